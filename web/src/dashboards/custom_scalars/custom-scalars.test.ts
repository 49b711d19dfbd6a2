import { expect, test } from 'vitest';

import type { LayoutChart } from '../../api/schemas';
import { NO_FILTER } from '../../lib/text-filter';
import {
  addChart,
  buildLayoutSections,
  type ChartLayout,
  CollapsedSections,
  compileTagPattern,
  findAdjacentLocation,
  layoutCodec,
  layoutToPython,
  makeExactPattern,
  moveChart,
  removeChart,
  replaceChart,
} from './chart-layout';

const makeChart = (title: string): LayoutChart => ({ title, tags: [title], margins: [] });
const LAYOUT: ChartLayout = [
  { title: 'one', closed: false, charts: [makeChart('a'), makeChart('b')] },
  { title: 'two', closed: true, charts: [makeChart('c')] },
];

const formatLayout = (layout: ChartLayout): string =>
  layout
    .map(({ title, charts }) => `${title}:${charts.map(({ title }) => title).join('')}`)
    .join(' ');

test('charts are added to a new or an existing category', () => {
  expect(formatLayout(addChart(LAYOUT, 'two', makeChart('d')))).toBe('one:ab two:cd');
  expect(formatLayout(addChart(LAYOUT, 'three', makeChart('d')))).toBe('one:ab two:c three:d');
});

test('a chart is replaced, or moved to another category', () => {
  const location = { category: 0, chart: 0 };
  expect(formatLayout(replaceChart(LAYOUT, location, 'one', makeChart('x')))).toBe('one:xb two:c');
  expect(formatLayout(replaceChart(LAYOUT, location, 'two', makeChart('x')))).toBe('one:b two:cx');
});

test('an empty category is removed', () => {
  expect(formatLayout(removeChart(LAYOUT, { category: 1, chart: 0 }))).toBe('one:ab');
});

test('charts move within a category and to the next one', () => {
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

test('a layout is parsed as it was formatted', () => {
  const text = layoutCodec.format(CODEC_LAYOUT);
  expect(text).toBe(
    '[["Quality",1,[["Loss",["loss","val.*loss"],[]],["Spread",[],[["a","b","c"]]]]]]',
  );
  expect(layoutCodec.parse(text)).toEqual(CODEC_LAYOUT);
});

test('an invalid URL has no layout', () => {
  for (const text of ['', '{', '[["a"]]', '[["a",0,[["b",["c"],[["d"]]]]]]', '7']) {
    expect(layoutCodec.parse(text)).toBeNull();
  }
});

test('Python code logs the layout', () => {
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

const TAGS = ['acc', 'high', 'loss', 'loss_val', 'low'];
const makeLines = (title: string, ...tags: string[]): LayoutChart => ({ title, tags, margins: [] });
const MARGIN = { value: 'loss', lower: 'low', upper: 'high' };

const build = (...charts: LayoutChart[]) =>
  buildLayoutSections([{ title: 'Quality', closed: false, charts }], TAGS, NO_FILTER, []);
const buildCard = (chart: LayoutChart) => build(chart)[0]?.cards[0];

test('a chart shows the tags that any of its expressions matches', () => {
  expect(buildCard(makeLines('Loss', 'loss', 'acc$'))).toMatchObject({
    id: 'chart:Quality/Loss',
    tags: ['acc', 'loss', 'loss_val'],
    warnings: [],
  });
});

test('tags of valid patterns are shown beside the errors of others', () => {
  const card = buildCard(makeLines('Loss', 'acc', 'loss('));
  expect(card?.tags).toEqual(['acc']);
  expect(card?.warnings[0]).toContain('Invalid regular expression “loss(”');
  expect(buildCard(makeLines('Gone', 'zzz'))?.warnings).toEqual([
    'No tags of the selected runs match “zzz”',
  ]);
});

test('bands need all three tags', () => {
  expect(buildCard({ title: 'Spread', tags: [], margins: [MARGIN] })).toMatchObject({
    tags: ['loss', 'low', 'high'],
    margins: [MARGIN],
    warnings: [],
  });
  const broken = { ...MARGIN, upper: 'top' };
  expect(buildCard({ title: 'Spread', tags: [], margins: [broken] })).toMatchObject({
    tags: [],
    warnings: ['Cannot draw band: missing “top”'],
  });
});

test('charts with the same title have different ids', () => {
  const ids = build(makeLines('Loss', 'loss'), makeLines('Loss', 'acc'))[0]?.cards.map(
    ({ id }) => id,
  );
  expect(ids).toEqual(['chart:Quality/Loss', 'chart:Quality/Loss#2']);
});

test('the filter finds charts by title and by tag, and pinned ones stay', () => {
  const layout = [
    { title: 'q', closed: false, charts: [makeLines('A', 'loss'), makeLines('B', 'acc')] },
  ];
  const found = buildLayoutSections(layout, TAGS, { text: 'acc', regex: false }, ['chart:q/A']);
  expect(found.map(({ title, cards }) => [title, ...cards.map((card) => card.title)])).toEqual([
    ['Pinned', 'A'],
    ['q', 'B'],
  ]);
});

const findTags = (pattern: string, ...tags: string[]): string[] =>
  tags.filter(compileTagPattern(pattern).matches);

test('an expression is matched at the beginning of a tag, as Python does', () => {
  expect(findTags('loss', 'loss', 'loss/train', 'val_loss')).toEqual(['loss', 'loss/train']);
  expect(findTags('a|b', 'a1', 'b1', 'cb')).toEqual(['a1', 'b1']);
});

test('Python syntax is translated', () => {
  expect(findTags('(?i)LOSS\\Z', 'loss', 'losses')).toEqual(['loss']);
  expect(findTags('(?P<head>\\w)/(?P=head)$', 'a/a', 'a/b')).toEqual(['a/a']);
});

test('an invalid expression has an error and matches nothing', () => {
  const { error, matches } = compileTagPattern('loss(');
  expect(error).toBe('Invalid regular expression “loss(”: Unterminated group');
  expect(matches('loss(')).toBe(false);
});

test('nested repetitions are refused', () => {
  expect(compileTagPattern('(a+)+$').error).toContain('Nested repetition');
  expect(compileTagPattern('(a|b)+x*').error).toBeNull();
});

test('an exact pattern matches only its tag', () => {
  const tag = 'loss (train).[1]';
  expect(findTags(makeExactPattern(tag), tag, `${tag}2`, 'loss train')).toEqual([tag]);
});

test('sections that are collapsed by default can be expanded, and others collapsed', () => {
  const toggled = {
    value: [] as readonly string[],
    set: (value: readonly string[]) => void (toggled.value = value),
  };
  const collapsed = new CollapsedSections(toggled);
  collapsed.setDefaults(() => ['b']);
  expect(collapsed.value).toEqual(['b']);
  collapsed.set([]);
  expect([collapsed.value, toggled.value]).toEqual([[], ['b']]);
  collapsed.set(['a', 'b']);
  expect([collapsed.value, toggled.value]).toEqual([['b', 'a'], ['a']]);
});
