import { expect, test } from 'vitest';

import { spreadOf } from './statistics';

test('mean and standard deviation of a sample', () => {
  const spread = spreadOf([0.9142, 0.9087, 0.9066, 0.8991]);
  expect(spread?.mean).toBeCloseTo(0.90715, 10);
  expect(spread?.std).toBeCloseTo(0.0062506, 6);
});

test('what is not finite is left out', () => {
  expect(spreadOf([1, NaN, 3, Infinity])).toMatchObject({ count: 2, mean: 2 });
  expect(spreadOf([NaN])).toBeNull();
  expect(spreadOf([5])).toEqual({ count: 1, mean: 5, std: NaN });
});

test('a large offset costs no digits', () => {
  expect(spreadOf([1e9 + 1, 1e9 + 2, 1e9 + 3])?.std).toBe(1);
});
