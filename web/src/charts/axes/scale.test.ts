import { expect, test } from 'vitest';

import { makeScale } from './scale';

test('a linear scale goes from pixel to value and back, downwards as well', () => {
  const scale = makeScale('linear', [10, 20], [100, 0]);
  expect(scale.toPixel(10)).toBe(100);
  expect(scale.toPixel(12.5)).toBe(75);
  expect(scale.toValue(75)).toBe(12.5);
});

test('a log scale gives each decade the same room', () => {
  const scale = makeScale('log', [0.001, 10], [0, 400]);
  expect(scale.toPixel(0.01)).toBeCloseTo(100);
  expect(scale.toPixel(1)).toBeCloseTo(300);
  expect(scale.toValue(200)).toBeCloseTo(0.1);
});

test('what a log scale cannot show is far beyond its lower end', () => {
  expect(makeScale('log', [1, 10], [0, 100]).toPixel(0)).toBeLessThan(-1e6);
  expect(makeScale('log', [1, 10], [100, 0]).toPixel(-3)).toBeGreaterThan(1e6);
});

test('NaN stays NaN, and no value is further away than canvases draw', () => {
  const scale = makeScale('linear', [0, 1], [0, 100]);
  expect(scale.toPixel(NaN)).toBeNaN();
  expect(scale.toPixel(1e300)).toBe(1e7);
  expect(scale.toPixel(-Infinity)).toBe(-1e7);
});

test('an axis of no length puts everything at its start', () => {
  const scale = makeScale('linear', [5, 5], [0, 100]);
  expect(scale.toPixel(7)).toBe(0);
  expect(scale.toValue(50)).toBe(5);
});
