import { expect, test } from 'vitest';

import type { Line } from '../charts/types';
import { limitRows, tooltipRows, withoutSharedFolder } from './tooltip-rows';

const line = (id: string, x: number[], y: number[], raw?: number[]): Line => ({
  id,
  label: id,
  color: '#000000',
  dash: [],
  axis: 0,
  x: Float64Array.from(x),
  y: Float64Array.from(y),
  ...(raw ? { raw: Float64Array.from(raw) } : {}),
});

const LINES = [
  line('a', [0, 10, 20], [1, 2, 3], [1, 4, 9]),
  line('b', [0, 10, 20], [7, 5, 3], [7, 6, 5]),
  line('early', [0, 1, 2], [0, 0, 0], [0, 0, 0]),
];

test('values are those of the drawn line until the logged points are loaded', () => {
  const [drawn] = tooltipRows(LINES, [], { x: 11, y: null, isSmooth: true, exact: [] });
  expect([drawn?.x, drawn?.smoothed, drawn?.value, drawn?.step]).toEqual([10, 2, 4, null]);
  const exact = { run: 'a', tag: '', step: 11, wall_time: 5, relative_s: 2, x: 11 };
  const lines = [line('a\n', [0, 10, 20], [1, 2, 3], [1, 4, 9])];
  const rows = [{ ...exact, value: 4.5, smoothed: 2.25 }];
  const [known] = tooltipRows(lines, [], { x: 11, y: null, isSmooth: true, exact: rows });
  expect([known?.x, known?.smoothed, known?.value, known?.step]).toEqual([11, 2.25, 4.5, 11]);
});

test('without smoothing the value is that of the line', () => {
  const [row] = tooltipRows(LINES, [], { x: 10, y: null, isSmooth: false, exact: [] });
  expect([row?.smoothed, row?.value]).toEqual([null, 2]);
});

test('rows are sorted, with lines that ended before the cursor last', () => {
  const rows = tooltipRows(LINES, [], { x: 10, y: 4.5, isSmooth: true, exact: [] });
  const order = (by: Parameters<typeof limitRows>[1]): string[] =>
    limitRows(rows, by, { y: 4.5, nearest: null }, 5).rows.map(({ id }) => id);
  expect(order('ascending')).toEqual(['a', 'b', 'early']);
  expect(order('descending')).toEqual(['b', 'a', 'early']);
  expect(order('nearest')).toEqual(['b', 'a', 'early']);
  expect(order('name')).toEqual(['a', 'b', 'early']);
});

test('rows beyond the limit are counted', () => {
  const rows = tooltipRows(LINES, [], { x: 10, y: null, isSmooth: true, exact: [] });
  const { rows: first, more } = limitRows(rows, 'name', { y: null, nearest: null }, 2);
  expect([first.length, more]).toEqual([2, 1]);
});

test.each([
  [
    ['sweep/a/train', 'sweep/b/train'],
    ['a/train', 'b/train'],
  ],
  [
    ['sweep/a', 'other'],
    ['sweep/a', 'other'],
  ],
  [
    ['a/b/c', 'a/bc/d'],
    ['b/c', 'bc/d'],
  ],
  [['sweep/only'], ['sweep/only']],
  [[], []],
])('the shared folder is removed: %j become %j', (labels, short) => {
  expect([...withoutSharedFolder(labels).values()]).toEqual(short);
});
