import { expect, test } from 'vitest';

import { moveSlice, partOf, tableSize } from './parts';

test('a table of one part has no others', () => {
  expect(partOf(0, 3, 3, 50)).toEqual({ first: 0, end: 3, count: 3, before: null, next: null });
});

test('every part of a large one can be reached', () => {
  expect(partOf(50, 50, 120, 50)).toMatchObject({ before: 0, next: 100 });
  expect(partOf(100, 20, 120, 50)).toMatchObject({ before: 50, next: null });
});

test('a list is one column, and of more dimensions the last two are a table', () => {
  expect(tableSize([4])).toEqual({ rows: 4, columns: 1 });
  expect(tableSize([2, 3])).toEqual({ rows: 2, columns: 3 });
  expect(tableSize([7, 5, 2, 3])).toEqual({ rows: 2, columns: 3 });
});

test('a place is kept inside of its dimension', () => {
  expect(moveSlice([0, 1], [4, 3, 2, 2], 0, 2)).toBe('2,1');
  expect(moveSlice([0, 1], [4, 3, 2, 2], 1, 99)).toBe('0,2');
  expect(moveSlice([0, 1], [4, 3, 2, 2], 0, -1)).toBe('0,1');
});
