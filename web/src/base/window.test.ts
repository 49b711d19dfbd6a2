import { expect, test } from 'vitest';

import { scrollToShow, visibleRows } from './window';

test('only rows near the screen exist', () => {
  expect(visibleRows(0, 280, 28, 10_000, 5)).toEqual({ first: 0, end: 15 });
  expect(visibleRows(2800, 280, 28, 10_000, 5)).toEqual({ first: 95, end: 115 });
  expect(visibleRows(280_000 - 280, 280, 28, 10_000, 5)).toEqual({ first: 9985, end: 10_000 });
});

test('a list that has become shorter than where it was scrolled to is not negative', () => {
  expect(visibleRows(5000, 280, 28, 3, 5)).toEqual({ first: 3, end: 3 });
});

test('a row that is seen does not scroll', () => {
  expect(scrollToShow(3, 28, 0, 280)).toBe(0);
  expect(scrollToShow(10, 28, 0, 280)).toBe(28);
  expect(scrollToShow(3, 28, 280, 280)).toBe(84);
});
