import { expect, test } from 'vitest';

import { makeColumn, makeTrialsOf } from './trial-fixtures';
import { cycleSort, listVisibleColumns, moveKey, sortRows } from './trials';

const NO_WISHES = { order: [], hidden: [], added: [] };

test('hyperparameters that differ come first, then metrics; the rest has to be asked for', () => {
  const columns = [
    makeColumn('m', [1, 2], 'metric'),
    { ...makeColumn('same', [1, 1]), varies: false },
    makeColumn('lr', [1, 2]),
    makeColumn('start', [1, 2], 'about'),
  ];
  const keys = (wishes: Partial<typeof NO_WISHES>): string[] =>
    listVisibleColumns(columns, { ...NO_WISHES, ...wishes }, null).map(({ key }) => key);
  expect(keys({})).toEqual(['lr', 'm']);
  expect(keys({ added: ['start', 'same'] as never })).toEqual(['same', 'lr', 'm', 'start']);
  expect(keys({ order: ['m'] as never })).toEqual(['m', 'lr']);
  expect(keys({ hidden: ['lr'] as never })).toEqual(['m']);
});

test('what sessions are judged by is always seen', () => {
  const metrics = Array.from({ length: 9 }, (_, at) => makeColumn(`m${at}`, [1, 2], 'metric'));
  const keys = listVisibleColumns(metrics, NO_WISHES, 'm8').map(({ key }) => key);
  expect(keys).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm8']);
});

test('a key is put before another or at the end', () => {
  expect(moveKey(['a', 'b', 'c'], 'c', 'a')).toEqual(['c', 'a', 'b']);
  expect(moveKey(['a', 'b', 'c'], 'a', null)).toEqual(['b', 'c', 'a']);
  expect(moveKey(['a', 'b', 'c'], 'a', 'c')).toEqual(['b', 'a', 'c']);
  expect(moveKey(['a', 'b'], 'a', 'a')).toEqual(['a', 'b']);
});

const SORT_TRIALS = makeTrialsOf(
  makeColumn('units', [64, 32, 64, 32, null]),
  makeColumn('acc', [0.5, 0.9, 0.8, NaN, 0.7], 'metric'),
);
const ALL = Int32Array.of(0, 1, 2, 3, 4);

test('the first column counts most, and what has no number comes last in both directions', () => {
  const [units, acc] = ['units', 'acc'];
  const by = (...keys: [string, boolean][]): number[] => [
    ...sortRows(
      ALL,
      keys.map(([key, descending]) => ({ key, descending })),
      SORT_TRIALS,
    ),
  ];
  expect(by([acc, false])).toEqual([0, 4, 2, 1, 3]);
  expect(by([acc, true])).toEqual([1, 2, 4, 0, 3]);
  expect(by([units, false], [acc, true])).toEqual([1, 3, 2, 0, 4]);
  expect(by([units, true], [acc, false])).toEqual([0, 2, 1, 3, 4]);
  expect(by(['gone', true])).toEqual([0, 1, 2, 3, 4]);
});

test('a click sorts up, down and not at all; with shift after the others', () => {
  const up = [{ key: 'a', descending: false }];
  const down = [{ key: 'a', descending: true }];
  expect(cycleSort([], 'a', false)).toEqual(up);
  expect(cycleSort(up, 'a', false)).toEqual(down);
  expect(cycleSort(down, 'a', false)).toEqual([]);
  const both = cycleSort(up, 'b', true);
  expect(both).toEqual([...up, { key: 'b', descending: false }]);
  expect(cycleSort(both, 'b', true)).toEqual([...up, { key: 'b', descending: true }]);
  expect(cycleSort([...up, { key: 'b', descending: true }], 'b', true)).toEqual(up);
  expect(cycleSort(both, 'b', false)).toEqual([{ key: 'b', descending: false }]);
});
