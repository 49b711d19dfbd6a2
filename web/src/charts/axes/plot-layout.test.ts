import { expect, test } from 'vitest';

import { truncateToWidth } from './axis-renderer';
import { type AxesSpec, layoutPlot } from './plot-layout';

const widthOf = (text: string): number => text.length * 6;
const makeSpec = (high: number, more: Partial<AxesSpec> = {}): AxesSpec => ({
  x: { kind: 'linear', domain: [0, 10_000], format: 'number' },
  y: { kind: 'linear', domain: [0, high] },
  y2: null,
  ...more,
});

test('charts with short numbers line up, long numbers take what they need', () => {
  const size = { width: 400, height: 210 };
  expect(layoutPlot(makeSpec(1), size, widthOf).plotArea.left).toBe(
    layoutPlot(makeSpec(50), size, widthOf).plotArea.left,
  );
  const wide = layoutPlot(
    makeSpec(1, { y: { kind: 'linear', domain: [1000, 1000.0001] } }),
    size,
    widthOf,
  );
  expect(wide.plotArea.left).toBeGreaterThan(60);
});

test('the scales fill the frame', () => {
  const { plotArea, x, y } = layoutPlot(makeSpec(1), { width: 400, height: 210 }, widthOf);
  expect(x.scale.toPixel(0)).toBe(plotArea.left);
  expect(x.scale.toPixel(10_000)).toBe(plotArea.left + plotArea.width);
  expect(y.scale.toPixel(0)).toBe(plotArea.top + plotArea.height);
  expect(y.scale.toPixel(1)).toBe(plotArea.top);
});

test.each([120, 200, 380, 1200])('labels of a chart %d wide do not touch', (width) => {
  const { x } = layoutPlot(makeSpec(1), { width, height: 210 }, widthOf);
  const gaps = x.ticks.slice(1).map((tick, at) => {
    const before = x.ticks[at] ?? tick;
    const room = x.scale.toPixel(tick.value) - x.scale.toPixel(before.value);
    return room - (widthOf(tick.label) + widthOf(before.label)) / 2;
  });
  expect(Math.min(...gaps, 99)).toBeGreaterThan(4);
});

test('a second axis takes room on the right', () => {
  const size = { width: 400, height: 210 };
  const y2 = { kind: 'linear', domain: [0, 5] } as const;
  const two = layoutPlot(makeSpec(1, { y2 }), size, widthOf);
  expect(two.plotArea.width).toBeLessThan(layoutPlot(makeSpec(1), size, widthOf).plotArea.width);
  expect(two.y2?.scale.toPixel(5)).toBe(two.plotArea.top);
});

test('a chart without room is still a chart', () => {
  const { plotArea } = layoutPlot(makeSpec(1), { width: 0, height: 0 }, widthOf);
  expect(plotArea.width).toBeGreaterThan(0);
  expect(plotArea.height).toBeGreaterThan(0);
});

const textMeasurer = { measureText: (text: string): number => text.length * 6 };

test('what fits stays, what does not ends in dots', () => {
  expect(truncateToWidth(textMeasurer, 'warm-up', 60)).toBe('warm-up');
  expect(truncateToWidth(textMeasurer, 'lr warm-up ends', 60)).toBe('lr warm…');
  expect(truncateToWidth(textMeasurer, 'lr warm-up ends', 0)).toBe('l…');
});
