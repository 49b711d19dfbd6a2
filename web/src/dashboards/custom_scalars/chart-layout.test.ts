import { expect, test } from 'vitest';

import type { LayoutChart } from '../../api/client';
import {
  addChart,
  type ChartLayout,
  findAdjacentLocation,
  layoutCodec,
  layoutToPython,
  moveChart,
  removeChart,
  replaceChart,
} from './chart-layout';

const chart = (title: string): LayoutChart => ({ title, tags: [title], margins: [] });
const LAYOUT: ChartLayout = [
  { title: 'one', closed: false, charts: [chart('a'), chart('b')] },
  { title: 'two', closed: true, charts: [chart('c')] },
];

const formatLayout = (layout: ChartLayout): string =>
  layout.map(({ title, charts }) => `${title}:${charts.map((it) => it.title).join('')}`).join(' ');

test('charts are added to a category, new or not', () => {
  expect(formatLayout(addChart(LAYOUT, 'two', chart('d')))).toBe('one:ab two:cd');
  expect(formatLayout(addChart(LAYOUT, 'three', chart('d')))).toBe('one:ab two:c three:d');
});

test('a chart is replaced in its place, or goes to another category', () => {
  const place = { category: 0, chart: 0 };
  expect(formatLayout(replaceChart(LAYOUT, place, 'one', chart('x')))).toBe('one:xb two:c');
  expect(formatLayout(replaceChart(LAYOUT, place, 'two', chart('x')))).toBe('one:b two:cx');
});

test('a category goes with its last chart', () => {
  expect(formatLayout(removeChart(LAYOUT, { category: 1, chart: 0 }))).toBe('one:ab');
});

test('charts move within a category and beyond it', () => {
  const last = { category: 0, chart: 1 };
  expect(findAdjacentLocation(LAYOUT, { category: 0, chart: 0 }, -1)).toBeNull();
  expect(formatLayout(moveChart(LAYOUT, last, { category: 0, chart: 0 }))).toBe('one:ba two:c');
  const next = findAdjacentLocation(LAYOUT, last, 1);
  expect(next && formatLayout(moveChart(LAYOUT, last, next))).toBe('one:a two:bc');
  const before = findAdjacentLocation(LAYOUT, { category: 1, chart: 0 }, -1);
  expect(before && formatLayout(moveChart(LAYOUT, { category: 1, chart: 0 }, before))).toBe(
    'one:abc',
  );
});

const CODEC_LAYOUT = [
  {
    title: 'Quality',
    closed: true,
    charts: [
      { title: 'Loss', tags: ['loss', 'val.*loss'], margins: [] },
      { title: 'Spread', tags: [], margins: [{ value: 'a', lower: 'b', upper: 'c' }] },
    ],
  },
];

test('a layout is read as it was written', () => {
  const text = layoutCodec.format(CODEC_LAYOUT);
  expect(text).toBe(
    '[["Quality",1,[["Loss",["loss","val.*loss"],[]],["Spread",[],[["a","b","c"]]]]]]',
  );
  expect(layoutCodec.parse(text)).toEqual(CODEC_LAYOUT);
});

test('a damaged link has no layout', () => {
  for (const text of ['', '{', '[["a"]]', '[["a",0,[["b",["c"],[["d"]]]]]]', '7']) {
    expect(layoutCodec.parse(text)).toBeNull();
  }
});

test('the same layout is logged by a few lines', () => {
  const margins = [
    { value: 'loss', lower: 'low', upper: 'high' },
    { value: 'acc', lower: 'a0', upper: 'a1' },
  ];
  const code = layoutToPython([
    {
      title: 'Quality',
      closed: false,
      charts: [
        { title: 'Loss "raw"', tags: ['loss', 'val.*'], margins: [] },
        { title: 'Spread', tags: [], margins },
      ],
    },
  ]);
  expect(code.split('\n').slice(2, 9)).toEqual([
    'layout = {',
    '    "Quality": {',
    '        "Loss \\"raw\\"": ["Multiline", ["loss", "val.*"]],',
    '        "Spread": ["Margin", ["loss", "low", "high"]],',
    '        "Spread 2": ["Margin", ["acc", "a0", "a1"]],',
    '    },',
    '}',
  ]);
});
