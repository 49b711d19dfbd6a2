import { expect, test } from 'vitest';

import { makeColumn, makeTrialsOf } from './trial-test-tools';
import { cycleSort, moveKey } from '../../../components/data-table';
import { chooseSample, listVisibleColumns, sortRows } from './trials';

const NO_PREFERENCES = { order: [], hidden: [], added: [] };

test('shows hyperparameters that vary, then metrics; other columns can be added', () => {
  const columns = [
    makeColumn('m', [1, 2], 'metric'),
    { ...makeColumn('same', [1, 1]), varies: false },
    makeColumn('lr', [1, 2]),
    makeColumn('start', [1, 2], 'info'),
  ];
  const keys = (preferences: Partial<typeof NO_PREFERENCES>): string[] =>
    listVisibleColumns(columns, { ...NO_PREFERENCES, ...preferences }, null).map(({ key }) => key);
  expect(keys({})).toEqual(['lr', 'm']);
  expect(keys({ added: ['start', 'same'] as never })).toEqual(['same', 'lr', 'm', 'start']);
  expect(keys({ order: ['m'] as never })).toEqual(['m', 'lr']);
  expect(keys({ hidden: ['lr'] as never })).toEqual(['m']);
});

test('the objective is always visible', () => {
  const metrics = Array.from({ length: 9 }, (_, index) =>
    makeColumn(`m${index}`, [1, 2], 'metric'),
  );
  const keys = listVisibleColumns(metrics, NO_PREFERENCES, 'm8').map(({ key }) => key);
  expect(keys).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm8']);
});

test('moves a key before another or to the end', () => {
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

test('sorts by several columns; rows without a value come last in both directions', () => {
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

test('clicks sort ascending, descending and not; with shift, they add a column', () => {
  const ascending = [{ key: 'a', descending: false }];
  const descending = [{ key: 'a', descending: true }];
  expect(cycleSort([], 'a', false)).toEqual(ascending);
  expect(cycleSort(ascending, 'a', false)).toEqual(descending);
  expect(cycleSort(descending, 'a', false)).toEqual([]);
  const keys = cycleSort(ascending, 'b', true);
  expect(keys).toEqual([...ascending, { key: 'b', descending: false }]);
  expect(cycleSort(keys, 'b', true)).toEqual([...ascending, { key: 'b', descending: true }]);
  expect(cycleSort([...ascending, { key: 'b', descending: true }], 'b', true)).toEqual(ascending);
  expect(cycleSort(keys, 'b', false)).toEqual([{ key: 'b', descending: false }]);
});

test('a sample has the chosen rows and others at equal distances', () => {
  const rows = Int32Array.from({ length: 100 }, (_, index) => index);
  const sample = chooseSample(rows, Int32Array.of(7, 3), 6);
  expect([...sample]).toEqual([7, 3, 0, 26, 51, 75]);
  expect(chooseSample(rows.slice(0, 4), Int32Array.of(1), 6)).toHaveLength(4);
});
