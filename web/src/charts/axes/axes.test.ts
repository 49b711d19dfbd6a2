import { describe, expect, test } from 'vitest';
import { scaleLinear, scaleLog } from 'd3-scale';

import type { NumberRange } from '../types';
import { truncateToWidth } from './axis-renderer';
import { type AxesSpec, layoutPlot } from './plot-layout';
import {
  formatDurationTick,
  listLocalMultiples,
  makeClockTicks,
  makeDurationTicks,
  makeScale,
  makeTicks,
  niceRange,
  niceStep,
  type Tick,
} from './ticks';

describe('ticks', () => {
  function tickLabels(
    domain: NumberRange,
    count: number,
    kind: 'linear' | 'log' = 'linear',
  ): string[] {
    return makeTicks(kind, 'number', domain, count).map(({ label }) => label);
  }

  test.each([
    [10, 5, 2],
    [1, 5, 0.2],
    [0.6, 4, 0.2],
    [100, 10, 10],
    [7, 1, 5],
  ])('a span of %d in about %d parts has steps of %d', (span, count, step) => {
    expect(niceStep(span, count)).toBeCloseTo(step, 12);
  });

  test('labels of an axis have the same number of digits, except zero', () => {
    expect(tickLabels([0.4, 1], 6)).toEqual(['0.4', '0.5', '0.6', '0.7', '0.8', '0.9', '1.0']);
    expect(tickLabels([0, 2.5], 5)).toEqual(['0', '0.5', '1.0', '1.5', '2.0', '2.5']);
    expect(tickLabels([-0.1, 0.1], 4)).toEqual(['−0.10', '−0.05', '0', '0.05', '0.10']);
  });

  test('large numbers share a unit, small ones have an exponent', () => {
    expect(tickLabels([0, 10_000], 5)).toEqual(['0', '2k', '4k', '6k', '8k', '10k']);
    expect(tickLabels([0, 2e6], 4)).toEqual(['0', '0.5M', '1.0M', '1.5M', '2.0M']);
    expect(tickLabels([0, 4e-5], 4)).toEqual(['0', '1e-5', '2e-5', '3e-5', '4e-5']);
    expect(tickLabels([1e-4, 1.5e-4], 5)).toEqual([
      '1e-4',
      '1.1e-4',
      '1.2e-4',
      '1.3e-4',
      '1.4e-4',
      '1.5e-4',
    ]);
  });

  test('numbers above a trillion have an exponent', () => {
    expect(tickLabels([0, 4e18], 4)).toEqual(['0', '1e18', '2e18', '3e18', '4e18']);
    expect(tickLabels([1e12, 1e18], 3, 'log')).toEqual(['1T', '100T', '1e16', '1e18']);
  });

  test('step ticks are integers', () => {
    const steps = makeTicks('linear', 'step', [76, 78], 8).map(({ label }) => label);
    expect(steps).toEqual(['76', '77', '78']);
  });

  test('ticks have no floating-point noise', () => {
    const values = makeTicks('linear', 'number', [0, 1], 10).map(({ value }) => value);
    expect(values).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
  });

  test('ranges near the limits of doubles have few ticks', () => {
    expect(tickLabels([1, 1 + 1e-15], 5).length).toBeLessThan(20);
    expect(tickLabels([-1e308, 1e308], 5).length).toBeLessThan(20);
    expect(tickLabels([5e-324, 1e-323], 5).length).toBeLessThan(20);
  });

  test('a log axis has powers of ten, and more if they fit', () => {
    expect(tickLabels([1e-4, 1e-2], 2, 'log')).toEqual(['1e-4', '1e-3', '0.01']);
    expect(tickLabels([1e-4, 1e-2], 5, 'log')).toEqual(['1e-4', '3e-4', '1e-3', '3e-3', '0.01']);
    expect(tickLabels([1, 100], 6, 'log')).toEqual(['1', '2', '5', '10', '20', '50', '100']);
    expect(tickLabels([1, 1e6], 3, 'log')).toEqual(['1', '100', '10k', '1M']);
  });

  test('a log axis within a decade has linear ticks', () => {
    expect(tickLabels([2, 8], 3, 'log')).toEqual(['2', '4', '6', '8']);
  });

  test('the ends of a rounded range have ticks unless much of it would be empty', () => {
    for (let high = 1.01; high < 99; high *= 1.013) {
      const [from, to] = niceRange([0.1, high], 4);
      const values = makeTicks('linear', 'number', [from, to], 4).map(({ value }) => value);
      expect(values[0]).toBe(from);
      const last = values.at(-1) ?? Number.NaN;
      const next = last + (values[1] ?? Number.NaN) - (values[0] ?? Number.NaN);
      if (last < to) expect(next - high).toBeGreaterThan(0.3 * (high - 0.1));
      else expect(last).toBe(to);
      expect(to - high).toBeLessThanOrEqual(0.3 * (high - 0.1));
    }
  });

  test('a range is rounded outwards', () => {
    expect(niceRange([0.03, 0.97], 5)).toEqual([0, 1]);
    expect(niceRange([-3.2, 7.1], 5)).toEqual([-4, 8]);
    expect(niceRange([0.2, 0.2], 5)).toEqual([0.2, 0.2]);
    expect(niceRange([-1, 1000], 3)).toEqual([-100, 1000]);
    expect(niceRange([-1, 11], 4)).toEqual([-1, 11]);
  });

  const labelsOf = (ticks: readonly Tick[]): string[] => ticks.map(({ label }) => label);

  test.each([
    [0, '0'],
    [0.25, '250 ms'],
    [45, '45 s'],
    [90, '1 min 30 s'],
    [7200, '2 h'],
    [5400, '1 h 30 min'],
    [90_000, '1 d 1 h'],
    [-60, '−1 min'],
  ])('%d seconds read %s', (seconds, text) => {
    expect(formatDurationTick(seconds)).toBe(text);
  });

  test('duration ticks use clock units', () => {
    expect(labelsOf(makeDurationTicks([0, 3600], 4))).toEqual([
      '0',
      '15 min',
      '30 min',
      '45 min',
      '1 h',
    ]);
    expect(labelsOf(makeDurationTicks([0, 90], 3))).toEqual(['0', '30 s', '1 min', '1 min 30 s']);
    expect(labelsOf(makeDurationTicks([0, 2], 4))).toEqual(['0', '500 ms', '1 s', '1.5 s', '2 s']);
  });

  test('long durations are in days', () => {
    expect(labelsOf(makeDurationTicks([0, 40 * 86_400], 4))).toEqual(['0', '14 d', '28 d']);
  });

  test('clock ticks use local time, with the date at midnight', () => {
    const start = new Date(2026, 2, 11, 18, 0).getTime() / 1000;
    expect(labelsOf(makeClockTicks([start, start + 12 * 3600], 4))).toEqual([
      '18:00',
      '21:00',
      '12 Mar',
      '03:00',
      '06:00',
    ]);
  });

  test('short ranges show seconds', () => {
    const start = new Date(2026, 2, 11, 18, 0).getTime() / 1000;
    expect(labelsOf(makeClockTicks([start, start + 20], 4))).toEqual([
      '18:00:00',
      '18:00:05',
      '18:00:10',
      '18:00:15',
      '18:00:20',
    ]);
  });

  test('months and years', () => {
    const from = new Date(2025, 10, 20).getTime() / 1000;
    const to = new Date(2026, 4, 20).getTime() / 1000;
    expect(labelsOf(makeClockTicks([from, to], 6))).toEqual([
      'Dec',
      '2026',
      'Feb',
      'Mar',
      'Apr',
      'May',
    ]);
  });

  test('ticks stay at whole local hours when daylight saving time starts', () => {
    // UTC+1 until 01:00 UTC, then UTC+2.
    const change = 3600;
    const getOffset = (time: number): number => (time < change ? -3600 : -7200);
    const times = listLocalMultiples(6 * 3600, [-12 * 3600, 24 * 3600], getOffset);
    const hours = times.map((time) => (time - getOffset(time)) / 3600);
    expect(hours).toEqual([-6, 0, 6, 12, 18, 24]);
  });
});

describe('scales', () => {
  test('a linear scale is invertible, also with a reversed range', () => {
    const scale = makeScale('linear', [10, 20], [100, 0]);
    expect(scale.toPixel(10)).toBe(100);
    expect(scale.toPixel(12.5)).toBe(75);
    expect(scale.toValue(75)).toBe(12.5);
  });

  test('a log scale gives each decade the same length', () => {
    const scale = makeScale('log', [0.001, 10], [0, 400]);
    expect(scale.toPixel(0.01)).toBeCloseTo(100);
    expect(scale.toPixel(1)).toBeCloseTo(300);
    expect(scale.toValue(200)).toBeCloseTo(0.1);
  });

  test('values that a log scale cannot show are far below it', () => {
    expect(makeScale('log', [1, 10], [0, 100]).toPixel(0)).toBeLessThan(-1e6);
    expect(makeScale('log', [1, 10], [100, 0]).toPixel(-3)).toBeGreaterThan(1e6);
  });

  test('NaN stays NaN, and pixels are clamped to what canvases can draw', () => {
    const scale = makeScale('linear', [0, 1], [0, 100]);
    expect(scale.toPixel(NaN)).toBeNaN();
    expect(scale.toPixel(1e300)).toBe(1e7);
    expect(scale.toPixel(-Infinity)).toBe(-1e7);
  });

  test('an empty domain maps everything to its start', () => {
    const scale = makeScale('linear', [5, 5], [0, 100]);
    expect(scale.toPixel(7)).toBe(0);
    expect(scale.toValue(50)).toBe(5);
  });

  test('scales agree with d3-scale within the domain', () => {
    const linear = makeScale('linear', [-3, 7], [40, 640]);
    const log = makeScale('log', [1e-4, 30], [300, 10]);
    const d3Linear = scaleLinear([-3, 7], [40, 640]);
    const d3Log = scaleLog([1e-4, 30], [300, 10]);
    for (let index = 0; index <= 50; index++) {
      const value = -3 + index / 5;
      expect(linear.toPixel(value)).toBeCloseTo(d3Linear(value), 9);
      expect(linear.toValue(40 + 12 * index)).toBeCloseTo(d3Linear.invert(40 + 12 * index), 9);
      const positive = 1e-4 * 1.25 ** index;
      expect(log.toPixel(positive)).toBeCloseTo(d3Log(positive), 6);
    }
  });
});

describe('layout', () => {
  const measure = (text: string): number => text.length * 6;
  const makeSpec = (high: number, more: Partial<AxesSpec> = {}): AxesSpec => ({
    x: { kind: 'linear', domain: [0, 10_000], format: 'number' },
    y: { kind: 'linear', domain: [0, high] },
    y2: null,
    ...more,
  });

  test('charts with short labels are aligned, long labels get more space', () => {
    const size = { width: 400, height: 210 };
    expect(layoutPlot(makeSpec(1), size, measure).plotArea.left).toBe(
      layoutPlot(makeSpec(50), size, measure).plotArea.left,
    );
    const wide = layoutPlot(
      makeSpec(1, { y: { kind: 'linear', domain: [1000, 1000.0001] } }),
      size,
      measure,
    );
    expect(wide.plotArea.left).toBeGreaterThan(60);
  });

  test('scales fill the plot area', () => {
    const { plotArea, x, y } = layoutPlot(makeSpec(1), { width: 400, height: 210 }, measure);
    expect(x.scale.toPixel(0)).toBe(plotArea.left);
    expect(x.scale.toPixel(10_000)).toBe(plotArea.left + plotArea.width);
    expect(y.scale.toPixel(0)).toBe(plotArea.top + plotArea.height);
    expect(y.scale.toPixel(1)).toBe(plotArea.top);
  });

  test.each([120, 200, 380, 1200])('labels of a chart %d wide do not touch', (width) => {
    const { x } = layoutPlot(makeSpec(1), { width, height: 210 }, measure);
    const gaps = x.ticks.slice(1).map((tick, at) => {
      const before = x.ticks[at] ?? tick;
      const distance = x.scale.toPixel(tick.value) - x.scale.toPixel(before.value);
      return distance - (measure(tick.label) + measure(before.label)) / 2;
    });
    expect(Math.min(...gaps, 99)).toBeGreaterThan(4);
  });

  test('a second axis takes space on the right', () => {
    const size = { width: 400, height: 210 };
    const y2 = { kind: 'linear', domain: [0, 5] } as const;
    const two = layoutPlot(makeSpec(1, { y2 }), size, measure);
    expect(two.plotArea.width).toBeLessThan(layoutPlot(makeSpec(1), size, measure).plotArea.width);
    expect(two.y2?.scale.toPixel(5)).toBe(two.plotArea.top);
  });

  test('a chart without space has a valid layout', () => {
    const { plotArea } = layoutPlot(makeSpec(1), { width: 0, height: 0 }, measure);
    expect(plotArea.width).toBeGreaterThan(0);
    expect(plotArea.height).toBeGreaterThan(0);
  });

  const textMeasurer = { measureText: (text: string): number => text.length * 6 };

  test('text that does not fit is truncated', () => {
    expect(truncateToWidth(textMeasurer, 'warm-up', 60)).toBe('warm-up');
    expect(truncateToWidth(textMeasurer, 'lr warm-up ends', 60)).toBe('lr warm…');
    expect(truncateToWidth(textMeasurer, 'lr warm-up ends', 0)).toBe('l…');
  });
});
