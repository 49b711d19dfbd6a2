import { expect, test } from 'vitest';

import { readColumn, readNumber, readTime } from './numbers';

test('numbers without a word in JSON come back', () => {
  expect(readColumn([1.5, 'NaN', '-Infinity', null])).toEqual([1.5, NaN, -Infinity, null]);
  expect(readColumn(undefined)).toEqual([]);
  expect(readNumber(undefined)).toBeNull();
});

test('a time that says nothing is no time', () => {
  expect(readTime(1_700_000_000)?.getFullYear()).toBe(2023);
  for (const nothing of [null, 'NaN', 'Infinity', 1e300] as const) {
    expect(readTime(nothing)).toBeNull();
  }
});
