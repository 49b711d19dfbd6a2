import { expect, test } from 'vitest';

import { computeStats, getExtent, getRobustExtent } from './statistics';

test('mean and standard deviation of a sample', () => {
  const spread = computeStats([0.9142, 0.9087, 0.9066, 0.8991]);
  expect(spread?.mean).toBeCloseTo(0.90715, 10);
  expect(spread?.std).toBeCloseTo(0.0062506, 6);
});

test('what is not finite is left out', () => {
  expect(computeStats([1, NaN, 3, Infinity])).toMatchObject({ count: 2, mean: 2 });
  expect(computeStats([NaN])).toBeNull();
  expect(computeStats([5])).toEqual({ count: 1, mean: 5, std: NaN });
});

test('a large offset costs no digits', () => {
  expect(computeStats([1e9 + 1, 1e9 + 2, 1e9 + 3])?.std).toBe(1);
});

test('gaps and numbers that are not finite do not count', () => {
  expect(
    getExtent([
      [null, 3, NaN],
      [-1, Infinity],
    ]),
  ).toEqual({ low: -1, high: 3 });
  expect(getExtent([[null, NaN]])).toBeNull();
});

test('a few strays do not hide the rest', () => {
  const calm = Array.from({ length: 100 }, (_, step) => step / 100);
  expect(getRobustExtent([calm])).toEqual({ low: 0, high: 0.99 });
  const extent = getRobustExtent([calm, [1e6, null, NaN]]);
  expect(extent?.low).toBe(0);
  expect(extent?.high).toBeLessThan(2);
});

test('numbers that are all the same, or none, have no strays', () => {
  expect(getRobustExtent([[3, 3, 3]])).toEqual({ low: 3, high: 3 });
  expect(getRobustExtent([[null, NaN]])).toBeNull();
});
