import { scaleLinear, scaleLog } from 'd3-scale';
import { describe, expect, test } from 'vitest';

import type { AxisLimits, Line, NumberRange } from '../types';
import {
  type AxisSettings,
  fitXDomain,
  fitYDomain,
  getAxesAt,
  getDragAxes,
  panBy,
  quickselect,
  resolveAxes,
  zoomAround,
  zoomToRect,
} from './domain';
import { type AxesSpec, layoutPlot, truncateToWidth } from './plot-axes';
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

describe('domain', () => {
  describe('domain', () => {
    const UNLIMITED: AxisLimits = { low: null, high: null };

    function makeLine(x: number[], y: number[], more: Partial<Line> = {}): Line {
      const base = { id: 'a', label: 'a', color: '#000000', dash: [], axis: 0 as const };
      return { ...base, x: Float64Array.from(x), y: Float32Array.from(y), ...more };
    }

    const content = (...lines: Line[]): { lines: Line[]; bands: [] } => ({ lines, bands: [] });
    const vertical = {
      axis: 0,
      kind: 'linear',
      limits: UNLIMITED,
      ignoreOutliers: false,
      within: null,
      ticks: 5,
    } as const;

    test('the x axis spans all lines exactly', () => {
      const both = content(makeLine([0, 5], [1, 1]), makeLine([3, 9], [1, 1]));
      expect(fitXDomain(both, 'linear', UNLIMITED)).toEqual([0, 9]);
    });

    test('unsorted x values are scanned', () => {
      const scatter = content(makeLine([5, -2, 9, 3], [1, 1, 1, 1], { scatter: true }));
      expect(fitXDomain(scatter, 'linear', UNLIMITED)).toEqual([-2, 9]);
    });

    test('a log axis starts at the first positive step', () => {
      expect(
        fitXDomain(content(makeLine([0, 0, 10, 100], [1, 1, 1, 1])), 'log', UNLIMITED),
      ).toEqual([10, 100]);
    });

    test('a single step is centered, and an empty chart has an axis', () => {
      expect(fitXDomain(content(makeLine([7], [1])), 'linear', UNLIMITED)).toEqual([6, 8]);
      expect(fitXDomain(content(), 'linear', UNLIMITED)).toEqual([0, 1]);
      expect(fitYDomain(content(), vertical)).toEqual([0, 1]);
    });

    test('the y axis ends at round numbers around finite values', () => {
      const odd = content(makeLine([0, 1, 2, 3], [0.13, NaN, Infinity, 0.92]));
      expect(fitYDomain(odd, vertical)).toEqual([0, 1]);
    });

    test('non-negative values have no negative axis', () => {
      expect(fitYDomain(content(makeLine([0, 1], [0, 10])), vertical)[0]).toBe(0);
    });

    test('a single value is centered', () => {
      expect(fitYDomain(content(makeLine([0, 1], [3, 3])), vertical)).toEqual([0, 6]);
      expect(fitYDomain(content(makeLine([0], [0])), vertical)).toEqual([-1, 1]);
    });

    test('raw values and column extremes are included', () => {
      const raw = Float32Array.of(0, 48);
      expect(fitYDomain(content(makeLine([0, 1], [20, 30], { raw })), vertical)[1]).toBe(50);
      const high = Float32Array.of(20, 95);
      const low = Float32Array.of(20, 30);
      expect(fitYDomain(content(makeLine([0, 1], [20, 30], { low, high })), vertical)[1]).toBe(100);
    });

    test('outliers are excluded as in TensorBoard: 5th to 95th percentile', () => {
      const y = Array.from({ length: 101 }, (_, at) => at / 100);
      y[50] = 1e9;
      y[51] = -1e9;
      const spiky = content(makeLine([...y.keys()], y));
      const [low, high] = fitYDomain(spiky, { ...vertical, ignoreOutliers: true });
      expect(low).toBe(0);
      expect(high).toBe(1);
      expect(fitYDomain(spiky, vertical)[1]).toBeGreaterThanOrEqual(1e9);
    });

    test('near values and few values are not outliers', () => {
      const ramp = Array.from({ length: 101 }, (_, at) => at);
      const slow = content(makeLine(ramp, ramp));
      expect(fitYDomain(slow, { ...vertical, ignoreOutliers: true })).toEqual([0, 100]);
      const few = content(makeLine([0, 1, 2, 3, 4], [1, 1, 1, 1, 500]));
      expect(fitYDomain(few, { ...vertical, ignoreOutliers: true })[1]).toBe(500);
    });

    test('only lines of an axis affect its domain', () => {
      const two = content(makeLine([0, 1], [0, 1]), makeLine([0, 1], [500, 900], { axis: 1 }));
      expect(fitYDomain(two, vertical)).toEqual([0, 1]);
      expect(fitYDomain(two, { ...vertical, axis: 1 })).toEqual([500, 900]);
    });

    test('only values in the visible x range affect the y domain', () => {
      const rising = content(makeLine([0, 1, 2, 3, 4], [0, 10, 20, 30, 400]));
      expect(fitYDomain(rising, { ...vertical, within: [1, 3] })).toEqual([10, 30]);
    });

    test('limits are applied unless they leave an empty range', () => {
      const some = content(makeLine([0, 10], [0.2, 0.8]));
      expect(fitYDomain(some, { ...vertical, limits: { low: -1, high: null } })).toEqual([-1, 0.8]);
      expect(fitYDomain(some, { ...vertical, limits: { low: 0.5, high: 0.6 } })).toEqual([
        0.5, 0.6,
      ]);
      expect(fitYDomain(some, { ...vertical, limits: { low: 5, high: null } })).toEqual([5, 6]);
      expect(fitXDomain(some, 'linear', { low: 2, high: 1 })).toEqual([0, 10]);
      expect(fitXDomain(some, 'log', { low: -5, high: null })).toEqual([10 / 2, 20]);
    });

    test('a log axis uses only positive values', () => {
      const [low, high] = fitYDomain(content(makeLine([0, 1, 2], [-1, 0.01, 100])), {
        ...vertical,
        kind: 'log',
      });
      expect(low).toBeGreaterThan(0.005);
      expect(low).toBeLessThanOrEqual(0.01);
      expect(high).toBeGreaterThanOrEqual(100);
    });

    test('finds the value that sorting would put at a rank', () => {
      const values = Float64Array.from({ length: 999 }, (_, at) => (at * 7919) % 1009);
      const sorted = values.slice().sort();
      for (const rank of [0, 1, 49, 500, 949, 998])
        expect(quickselect(values.slice(), rank)).toBe(sorted[rank]);
    });

    test('terminates for equal values', () => {
      expect(quickselect(new Float64Array(100).fill(3), 50)).toBe(3);
    });

    const NO_LIMITS = { low: null, high: null };
    const settings: AxisSettings = {
      xFormat: 'step',
      xScale: 'linear',
      yScale: 'linear',
      y2Scale: 'linear',
      xLimits: NO_LIMITS,
      yLimits: NO_LIMITS,
      y2Limits: NO_LIMITS,
      ignoreOutliers: false,
      yTickCount: 5,
    };

    function makeAxisLine(axis: 0 | 1, ...y: number[]): Line {
      const x = Float64Array.from(y, (_, at) => at);
      return { id: `${axis}`, label: '', color: '', dash: [], axis, x, y: Float64Array.from(y) };
    }

    test('without zoom, limits take precedence over data', () => {
      const content = { lines: [makeAxisLine(0, 0, 5, 10)], bands: [] };
      const plan = resolveAxes(content, { ...settings, yLimits: { low: null, high: 20 } }, null);
      expect(plan.x.domain).toEqual([0, 2]);
      expect(plan.y.domain).toEqual([0, 20]);
      expect(plan.y2).toBe(null);
    });

    test('zoom takes precedence over limits and data', () => {
      const zoom = { x: [1, 2], y: [3, 4] } as const;
      const limits = { low: 0, high: 20 };
      const content = { lines: [makeAxisLine(0, 0, 5, 10)], bands: [] };
      const plan = resolveAxes(content, { ...settings, yLimits: limits }, zoom);
      expect(plan.x.domain).toEqual([1, 2]);
      expect(plan.y.domain).toEqual([3, 4]);
    });

    test('a zoom that is invalid on a log scale is ignored', () => {
      const zoom = { x: [0, 2], y: [-1, 4] } as const;
      const content = { lines: [makeAxisLine(0, 1, 5, 10)], bands: [] };
      const plan = resolveAxes(content, { ...settings, yScale: 'log' }, zoom);
      expect(plan.x.domain).toEqual([0, 2]);
      expect(plan.y.domain[0]).toBeGreaterThan(0.9);
    });

    test('the right axis exists if a line uses it and fits the visible values', () => {
      const content = {
        lines: [makeAxisLine(0, 0, 1), makeAxisLine(1, 10, 20, 30, 900)],
        bands: [],
      };
      const zoom = { x: [0, 2], y: [0, 1] } as const;
      expect(resolveAxes(content, settings, zoom).y2?.domain).toEqual([10, 30]);
    });
  });

  describe('zoom', () => {
    const plan: AxesSpec = {
      x: { kind: 'linear', domain: [0, 100], format: 'number' },
      y: { kind: 'log', domain: [1, 100] },
      y2: { kind: 'linear', domain: [0, 10] },
    };
    const layout = layoutPlot(plan, { width: 476, height: 230 }, (text) => text.length * 6);
    const { plotArea } = layout;
    const at = (x: number, y: number): { x: number; y: number } => ({
      x: plotArea.left + x * plotArea.width,
      y: plotArea.top + y * plotArea.height,
    });

    test('a rectangle selects a range on all axes', () => {
      const extent = zoomToRect(layout, at(0.25, 0.5), at(0.75, 1));
      expect(extent?.x[0]).toBeCloseTo(25);
      expect(extent?.x[1]).toBeCloseTo(75);
      expect(extent?.y[0]).toBeCloseTo(1);
      expect(extent?.y[1]).toBeCloseTo(10);
      expect(extent?.y2?.[1]).toBeCloseTo(5);
    });

    test('a rectangle is clipped to the plot area', () => {
      const extent = zoomToRect(layout, at(0.5, 0.5), at(9, 9));
      expect(extent?.x[1]).toBeCloseTo(100);
      expect(extent?.y[0]).toBeCloseTo(1);
    });

    test('a flat drag zooms x, a narrow one y', () => {
      expect(getDragAxes(layout, at(0.2, 0.5), at(0.8, 0.51))).toBe('x');
      expect(getDragAxes(layout, at(0.5, 0.2), at(0.51, 0.8))).toBe('y');
      expect(zoomToRect(layout, at(0.2, 0.5), at(0.8, 0.51))?.y).toEqual([1, 100]);
    });

    test('outside the plot area there is one axis', () => {
      expect(
        getAxesAt(layout, { x: plotArea.left + 9, y: plotArea.top + plotArea.height + 9 }),
      ).toBe('x');
      expect(getAxesAt(layout, { x: plotArea.left - 9, y: plotArea.top + 9 })).toBe('y');
      expect(getAxesAt(layout, at(0.5, 0.5))).toBe('both');
    });

    test('panning to the right shows smaller x values', () => {
      const extent = panBy(layout, plotArea.width / 10, 0);
      expect(extent?.x[0]).toBeCloseTo(-10);
      expect(extent?.x[1]).toBeCloseTo(90);
    });

    test('zooming keeps the position under the pointer', () => {
      const extent = zoomAround(layout, at(0.25, 0.5), 2, 'both');
      expect(extent?.x[0]).toBeCloseTo(12.5);
      expect(extent?.x[1]).toBeCloseTo(62.5);
      expect(Math.sqrt((extent?.y[0] ?? 0) * (extent?.y[1] ?? 0))).toBeCloseTo(10);
    });

    test('zoom is limited by the resolution of doubles', () => {
      expect(zoomAround(layout, at(0.5, 0.5), 1e15, 'both')).toBe(null);
      expect(zoomToRect(layout, at(0.5, 0.2), at(0.5, 0.2))).toEqual(null);
    });
  });
});
