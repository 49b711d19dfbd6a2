import { expect, test } from 'vitest';

import { orderBy, type Sortable } from './order';

const order = (values: readonly Sortable[], descending = false): Sortable[] =>
  orderBy(values, (value) => value, descending);

test('numbers by size, with what is none last both ways', () => {
  expect(order([3, null, -Infinity, NaN, 0.5])).toEqual([-Infinity, 0.5, 3, null, NaN]);
  expect(order([3, null, -Infinity, NaN, 0.5], true)).toEqual([3, 0.5, -Infinity, null, NaN]);
});

test('texts in natural order, and empty ones as none', () => {
  expect(order(['b10', '', 'b9', 'a'])).toEqual(['a', 'b9', 'b10', '']);
  expect(order([['b'], [], ['a', 'c']])).toEqual([['a', 'c'], ['b'], []]);
  expect(order([true, false, null])).toEqual([false, true, null]);
});

test('equals keep their order', () => {
  const items = [1, 2, 3, 4];
  expect(orderBy(items, (item) => item % 2, false)).toEqual([2, 4, 1, 3]);
  expect(orderBy(items, (item) => item % 2, true)).toEqual([1, 3, 2, 4]);
  expect(orderBy(items, () => Infinity, true)).toEqual(items);
});
