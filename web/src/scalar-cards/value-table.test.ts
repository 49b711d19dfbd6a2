import { expect, test } from 'vitest';

import { nextSort, sortTable, type ValueTableData } from './value-table';

const cell = (key: number) => ({ text: String(key), sortKey: key });
const row = (id: string, key: number) => ({ id, label: id, color: '', cells: [cell(key)] });
const TABLE: ValueTableData = {
  columns: ['Value'],
  rows: [row('a', 2), row('b', NaN), row('c', 1)],
};
const ids = (sort: string): string[] => sortTable(TABLE, sort).map(({ id }) => id);

test('rows are sorted both ways, and what is not a number comes last', () => {
  expect(ids('Value')).toEqual(['c', 'a', 'b']);
  expect(ids('-Value')).toEqual(['a', 'c', 'b']);
});

test('a column that is not there leaves the order', () => {
  expect(ids('Mean')).toEqual(['a', 'b', 'c']);
  expect(ids('-Run')).toEqual(['c', 'b', 'a']);
});

test('three clicks on a heading lead back to the start', () => {
  const first = nextSort('', 'Value');
  const second = nextSort(first, 'Value');
  expect([first, second, nextSort(second, 'Value')]).toEqual(['Value', '-Value', '']);
});
