import { expect, test } from 'vitest';

import type { Limits, Line } from '../types';
import { fitX, fitY } from './fit';

const FREE: Limits = { low: null, high: null };

function line(x: number[], y: number[], more: Partial<Line> = {}): Line {
  const base = { id: 'a', label: 'a', colour: '#000000', dash: [], axis: 0 as const };
  return { ...base, x: Float64Array.from(x), y: Float32Array.from(y), ...more };
}

const content = (...lines: Line[]): { lines: Line[]; bands: [] } => ({ lines, bands: [] });
const vertical = {
  axis: 0,
  kind: 'linear',
  limits: FREE,
  ignoreOutliers: false,
  within: null,
  ticks: 5,
} as const;

test('the horizontal axis spans all lines exactly', () => {
  const both = content(line([0, 5], [1, 1]), line([3, 9], [1, 1]));
  expect(fitX(both, 'linear', FREE)).toEqual([0, 9]);
});

test('x in any order is looked through', () => {
  const scatter = content(line([5, -2, 9, 3], [1, 1, 1, 1], { scatter: true }));
  expect(fitX(scatter, 'linear', FREE)).toEqual([-2, 9]);
});

test('a log axis begins at the first step it can show', () => {
  expect(fitX(content(line([0, 0, 10, 100], [1, 1, 1, 1])), 'log', FREE)).toEqual([10, 100]);
});

test('one step stands in the middle, and no line still gives an axis', () => {
  expect(fitX(content(line([7], [1])), 'linear', FREE)).toEqual([6, 8]);
  expect(fitX(content(), 'linear', FREE)).toEqual([0, 1]);
  expect(fitY(content(), vertical)).toEqual([0, 1]);
});

test('the vertical axis ends at round numbers around finite values', () => {
  const odd = content(line([0, 1, 2, 3], [0.13, NaN, Infinity, 0.92]));
  expect(fitY(odd, vertical)).toEqual([0, 1]);
});

test('what is never negative has no negative axis', () => {
  expect(fitY(content(line([0, 1], [0, 10])), vertical)[0]).toBe(0);
});

test('a single value stands in the middle', () => {
  expect(fitY(content(line([0, 1], [3, 3])), vertical)).toEqual([0, 6]);
  expect(fitY(content(line([0], [0])), vertical)).toEqual([-1, 1]);
});

test('raw values and the extremes of columns are seen as well', () => {
  const raw = Float32Array.of(0, 48);
  expect(fitY(content(line([0, 1], [20, 30], { raw })), vertical)[1]).toBe(50);
  const high = Float32Array.of(20, 95);
  const low = Float32Array.of(20, 30);
  expect(fitY(content(line([0, 1], [20, 30], { low, high })), vertical)[1]).toBe(100);
});

test('outliers are left out as TensorBoard does: from the 5th to the 95th of 100', () => {
  const y = Array.from({ length: 101 }, (_, at) => at / 100);
  y[50] = 1e9;
  y[51] = -1e9;
  const spiky = content(line([...y.keys()], y));
  const [low, high] = fitY(spiky, { ...vertical, ignoreOutliers: true });
  expect(low).toBe(0);
  expect(high).toBe(1);
  expect(fitY(spiky, vertical)[1]).toBeGreaterThanOrEqual(1e9);
});

test('what is not far away is no outlier, nor is one of few values', () => {
  const ramp = Array.from({ length: 101 }, (_, at) => at);
  const slow = content(line(ramp, ramp));
  expect(fitY(slow, { ...vertical, ignoreOutliers: true })).toEqual([0, 100]);
  const few = content(line([0, 1, 2, 3, 4], [1, 1, 1, 1, 500]));
  expect(fitY(few, { ...vertical, ignoreOutliers: true })[1]).toBe(500);
});

test('only the lines of an axis count for it', () => {
  const two = content(line([0, 1], [0, 1]), line([0, 1], [500, 900], { axis: 1 }));
  expect(fitY(two, vertical)).toEqual([0, 1]);
  expect(fitY(two, { ...vertical, axis: 1 })).toEqual([500, 900]);
});

test('only what lies within a part of the horizontal axis counts', () => {
  const rising = content(line([0, 1, 2, 3, 4], [0, 10, 20, 30, 400]));
  expect(fitY(rising, { ...vertical, within: [1, 3] })).toEqual([10, 30]);
});

test('typed ends hold, as far as they leave something to see', () => {
  const some = content(line([0, 10], [0.2, 0.8]));
  expect(fitY(some, { ...vertical, limits: { low: -1, high: null } })).toEqual([-1, 0.8]);
  expect(fitY(some, { ...vertical, limits: { low: 0.5, high: 0.6 } })).toEqual([0.5, 0.6]);
  expect(fitY(some, { ...vertical, limits: { low: 5, high: null } })).toEqual([5, 6]);
  expect(fitX(some, 'linear', { low: 2, high: 1 })).toEqual([0, 10]);
  expect(fitX(some, 'log', { low: -5, high: null })).toEqual([10 / 2, 20]);
});

test('a log axis counts only values it can show', () => {
  const [low, high] = fitY(content(line([0, 1, 2], [-1, 0.01, 100])), { ...vertical, kind: 'log' });
  expect(low).toBeGreaterThan(0.005);
  expect(low).toBeLessThanOrEqual(0.01);
  expect(high).toBeGreaterThanOrEqual(100);
});
