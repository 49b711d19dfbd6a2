import { expect, test } from 'vitest';

import { findNearestCurve, makeCurveAxes, readCurve } from './curve-plot';

const RISING = { x: [0, 1, 4], y: [0, 10, 40], color: 'red' };
const PRUNED = { x: [1], y: [30], color: 'blue', crossed: true };
const FLAT = { x: [0, 2], y: [30, 30], color: 'blue' };

test('reads a curve between its points, and only between its ends', () => {
  expect(readCurve(RISING, 2.5)).toBe(25);
  expect(readCurve({ ...RISING, stepped: true }, 3.9)).toBe(10);
  expect(readCurve(RISING, 4)).toBe(40);
  expect(readCurve(FLAT, 2.1)).toBeNaN();
});

test('finds the curve nearest to the pointer', () => {
  const axes = makeCurveAxes([RISING, FLAT], 'step', 'loss', null);
  const area = { left: 50, top: 10, width: 400, height: 200 };
  const find = (x: number, y: number): number | null =>
    findNearestCurve([RISING, FLAT], area, axes, x, y);
  expect(find(50 + 100, 60)).toBe(1);
  expect(find(50 + 300, 60)).toBe(0);
  expect(find(50 + 100, 110)).toBeNull();
  // A trial that was pruned after one value is a point.
  const axesOfPoint = makeCurveAxes([RISING, PRUNED], 'step', 'loss', null);
  const findPoint = (x: number, y: number): number | null =>
    findNearestCurve([PRUNED], area, axesOfPoint, x, y);
  expect(findPoint(50 + 103, 10 + 47)).toBe(0);
  expect(findPoint(50 + 120, 10 + 47)).toBeNull();
});
