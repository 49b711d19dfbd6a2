import { expect, test } from 'vitest';

import { getScrollTop, getVisibleRows } from './virtual-range';

test('only rows near the screen exist', () => {
  expect(getVisibleRows(0, 280, 28, 10_000, 5)).toEqual({ first: 0, end: 15 });
  expect(getVisibleRows(2800, 280, 28, 10_000, 5)).toEqual({ first: 95, end: 115 });
  expect(getVisibleRows(280_000 - 280, 280, 28, 10_000, 5)).toEqual({ first: 9985, end: 10_000 });
});

test('a list that has become shorter than where it was scrolled to is not negative', () => {
  expect(getVisibleRows(5000, 280, 28, 3, 5)).toEqual({ first: 3, end: 3 });
});

test('a row that is seen does not scroll', () => {
  expect(getScrollTop(3, 28, 0, 280)).toBe(0);
  expect(getScrollTop(10, 28, 0, 280)).toBe(28);
  expect(getScrollTop(3, 28, 280, 280)).toBe(84);
});
