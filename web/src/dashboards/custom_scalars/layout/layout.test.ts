import { expect, test } from 'vitest';

import type { LayoutChart } from '../../../api/notes';
import { addChart, beside, type Layout, moveChart, removeChart, replaceChart } from './layout';

const chart = (title: string): LayoutChart => ({ title, tags: [title], margins: [] });
const LAYOUT: Layout = [
  { title: 'one', closed: false, charts: [chart('a'), chart('b')] },
  { title: 'two', closed: true, charts: [chart('c')] },
];

const said = (layout: Layout): string =>
  layout.map(({ title, charts }) => `${title}:${charts.map((it) => it.title).join('')}`).join(' ');

test('charts are added to a category, new or not', () => {
  expect(said(addChart(LAYOUT, 'two', chart('d')))).toBe('one:ab two:cd');
  expect(said(addChart(LAYOUT, 'three', chart('d')))).toBe('one:ab two:c three:d');
});

test('a chart is replaced in its place, or goes to another category', () => {
  const place = { category: 0, chart: 0 };
  expect(said(replaceChart(LAYOUT, place, 'one', chart('x')))).toBe('one:xb two:c');
  expect(said(replaceChart(LAYOUT, place, 'two', chart('x')))).toBe('one:b two:cx');
});

test('a category goes with its last chart', () => {
  expect(said(removeChart(LAYOUT, { category: 1, chart: 0 }))).toBe('one:ab');
});

test('charts move within a category and beyond it', () => {
  const last = { category: 0, chart: 1 };
  expect(beside(LAYOUT, { category: 0, chart: 0 }, -1)).toBeNull();
  expect(said(moveChart(LAYOUT, last, { category: 0, chart: 0 }))).toBe('one:ba two:c');
  const next = beside(LAYOUT, last, 1);
  expect(next && said(moveChart(LAYOUT, last, next))).toBe('one:a two:bc');
  const before = beside(LAYOUT, { category: 1, chart: 0 }, -1);
  expect(before && said(moveChart(LAYOUT, { category: 1, chart: 0 }, before))).toBe('one:abc');
});
