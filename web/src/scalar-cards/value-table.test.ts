import { expect, test } from 'vitest';

import type { Line } from '../charts/types';
import { sortRows } from '../components/data-table';
import { pointsTable, rangeTable } from './value-table';

const line = (id: string): Line => ({
  id: `${id}\nloss`,
  label: id,
  color: '',
  dash: [],
  axis: 0,
  x: new Float64Array(0),
  y: new Float64Array(0),
});
const point = (run: string, value: number | 'NaN') => ({
  ...{ run, tag: 'loss', step: 7, wall_time: 60, relative_s: 5, x: 7 },
  ...{ value, smoothed: value },
});

test('a line without a point has no row', () => {
  const { rows } = pointsTable('Last values', [line('a'), line('b')], [point('b', 2)]);
  expect(rows.map(({ label }) => label)).toEqual(['b']);
  expect(rows[0]?.cells['value']?.text).toBe('2');
  expect(rows[0]?.cells['smoothed']?.text).toBe('2');
});

test('rows are sorted by value with NaN last, or by the order of the runs', () => {
  const points = [point('a', 2), point('b', 'NaN'), point('c', 1)];
  const { rows, columns } = pointsTable('', [line('a'), line('b'), line('c')], points);
  const sort = (key: string, descending: boolean): string[] =>
    sortRows(rows, columns, { key, descending }).map(({ label }) => label);
  expect(sort('value', false)).toEqual(['c', 'a', 'b']);
  expect(sort('value', true)).toEqual(['a', 'c', 'b']);
  expect(sort('run', true)).toEqual(['c', 'b', 'a']);
  expect(sort('mean', false)).toEqual(['a', 'b', 'c']);
});

test('the change over a range is also shown in percent', () => {
  const row = {
    ...{ run: 'a', tag: 'loss', start: null, stop: null, min: null, max: null },
    ...{ change: -1, change_ratio: -0.5, mean: 1, count: 3 },
  };
  const { rows } = rangeTable('', [line('a')], [row]);
  expect(rows[0]?.cells['change_percent']?.text).toBe('−50%');
});
