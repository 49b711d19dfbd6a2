import { expect, test } from 'vitest';

import { type Sortable, sortByValue, sortNatural } from './sorting';

test.each([
  [['run', 'run1', 'run2', 'run10', 'run10a', 'runs']],
  [['lr1e-5', 'lr3e-4', 'lr1e-3', 'lr0.15', 'lr0.2', 'lr1', 'lr1e+2']],
  [['.', 'a', 'a/eval', 'a/train', 'a-2', 'a.b', 'ab']],
  [['Alpha', 'alpha', 'Beta', 'gamma']],
  [['run1', 'run02', 'run2', 'run10']],
])('the order is that of the server: %j', (names) => {
  expect(sortNatural([...names].reverse(), (name) => name)).toEqual(names);
});

const order = (values: readonly Sortable[], descending = false): Sortable[] =>
  sortByValue(values, (value) => value, descending);

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
  expect(sortByValue(items, (item) => item % 2, false)).toEqual([2, 4, 1, 3]);
  expect(sortByValue(items, (item) => item % 2, true)).toEqual([1, 3, 2, 4]);
  expect(sortByValue(items, () => Infinity, true)).toEqual(items);
});
