import { scaleLinear, scaleLog } from 'd3-scale';
import { expect, test } from 'vitest';

import { makeScale } from './scale';

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
