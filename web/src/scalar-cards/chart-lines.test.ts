import { describe, expect, it, test } from 'vitest';

import type { Line } from '../charts/types';
import type { RunGroup, VisibleRun } from '../plugin/context';
import {
  listCaptureFlags,
  getCountRange,
  listChartRuns,
  makeBandGroups,
  makeBands,
  makeDebuggerAnnotations,
  makeMarginBands,
} from './chart-lines';

const line = (run: string, tag: string, x: number[], y: number[]): Line => ({
  id: `${run}\n${tag}`,
  label: run,
  color: '#000000',
  dash: [],
  axis: 0,
  x: Float64Array.from(x),
  y: Float64Array.from(y),
});

const CARD = {
  id: 'c',
  title: 'c',
  description: '',
  tags: ['loss', 'low', 'high'],
  right: [],
  margins: [{ value: 'loss', lower: 'low', upper: 'high' }],
};

test('three lines of a run form a band', () => {
  const [band] = makeMarginBands(
    [
      line('a', 'loss', [0, 1], [2, 3]),
      line('a', 'low', [0, 1], [1, 2]),
      line('a', 'high', [0, 1], [4, 5]),
    ],
    CARD,
  );
  expect(band?.id).toBe('a\nloss');
  expect([band?.low, band?.center, band?.high].map((column) => [...(column ?? [])])).toEqual([
    [1, 2],
    [2, 3],
    [4, 5],
  ]);
});

test('edges with other steps are interpolated, but not extrapolated', () => {
  const [band] = makeMarginBands(
    [
      line('a', 'loss', [0, 5, 10, 20], [2, 2, 2, 2]),
      line('a', 'low', [0, 10], [0, 1]),
      line('a', 'high', [5, 20], [3, 6]),
    ],
    CARD,
  );
  expect([...(band?.low ?? [])]).toEqual([0, 0.5, 1, NaN]);
  expect([...(band?.high ?? [])]).toEqual([NaN, 3, 4, 6]);
});

test('a run without all three lines has no band', () => {
  expect(makeMarginBands([line('b', 'loss', [0], [1]), line('b', 'low', [0], [0])], CARD)).toEqual(
    [],
  );
});

test('a band is not smoothed', () => {
  const smooth = (tag: string, raw: number): Line => ({
    ...line('a', tag, [0], [50]),
    raw: Float64Array.of(raw),
  });
  const [band] = makeMarginBands([smooth('loss', 2), smooth('low', 1), smooth('high', 3)], CARD);
  expect([band?.low[0], band?.center[0], band?.high[0]]).toEqual([1, 2, 3]);
});

const BAND = {
  group: 'g',
  tag: 'loss',
  runs: 3,
  x: Float64Array.of(0, 1, 2),
  count: Int32Array.of(3, 2, 1),
  low: Float64Array.of(1, 1, NaN),
  center: Float64Array.of(2, 2, NaN),
  high: Float64Array.of(3, 3, NaN),
  inner_low: null,
  inner_high: null,
};

test('a band has the color, name and count of its group', () => {
  const common = { error: null, revision: '', base: null };
  const response = { id: 'c', runs: 3, points: 9, reduced: false, grid: null, ...common };
  const chart = { ...response, lines: [], bands: [BAND, { ...BAND, group: 'former' }] };
  const group = { key: 'g', label: 'seeds', color: '#123456', dash: [5, 4], runs: ['a'] };
  const [band, ...rest] = makeBands(chart, { ...CARD, tags: ['loss'] }, [group]);
  expect(band).toMatchObject({ label: 'seeds', color: '#123456', dash: [5, 4], count: BAND.count });
  expect(rest).toEqual([]);
});

test('the range of counts ignores gaps', () => {
  expect(getCountRange([BAND])).toEqual({ low: 2, high: 3 });
  expect(getCountRange([])).toBeNull();
});

const CAPTURES = [
  { id: 'a', run: 'one', wall_s: 1_700_000_000, step: 20 },
  { id: 'b', run: 'two', wall_s: 1_700_000_100, step: null },
];

test('captures are marked at their step if it is known', () =>
  expect(listCaptureFlags(CAPTURES, ['one', 'two'], 'step')).toEqual([
    { id: 'capture a', x: 20, text: 'Profile of one' },
  ]));

test('captures are marked at their time', () =>
  expect(listCaptureFlags(CAPTURES, ['one', 'two'], 'wall').map(({ x }) => x)).toEqual([
    1_700_000_000, 1_700_000_100,
  ]));

test('only captures of runs in the chart are marked, on axes of time and step', () => {
  expect(listCaptureFlags(CAPTURES, ['two'], 'wall')).toHaveLength(1);
  expect(listCaptureFlags(CAPTURES, ['one'], 'metric:loss')).toEqual([]);
});

test('too many captures are not marked', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ ...CAPTURES[0], id: `${at}`, step: at }));
  expect(listCaptureFlags(many as typeof CAPTURES, ['one'], 'step')).toEqual([]);
});

describe('band groups', () => {
  function makeRuns(...names: string[]): VisibleRun[] {
    return names.map((name) => ({ name, label: name, color: '#111', dash: [], group: null }));
  }

  function describe(
    groups: readonly RunGroup[],
    ...names: string[]
  ): [string, readonly string[]][] {
    return makeBandGroups({ groups, visible: makeRuns(...names) }).map(({ label, runs }) => [
      label,
      runs,
    ]);
  }

  test('train and validation runs are separate bands', () => {
    expect(describe([], 'a/train', 'a/validation', 'b/train', 'b/val')).toEqual([
      ['All 4 runs · train', ['a/train', 'b/train']],
      ['All 4 runs · validation', ['a/validation', 'b/val']],
    ]);
  });

  test('runs are grouped by the folder of their experiment', () => {
    const names = [
      'x/vit/seed1/train',
      'x/vit/seed2/train',
      'x/cnn/seed1',
      'x/cnn/seed2',
      'x/alone',
    ];
    expect(describe([], ...names)).toEqual([
      ['vit', ['x/vit/seed1/train', 'x/vit/seed2/train']],
      ['cnn', ['x/cnn/seed1', 'x/cnn/seed2']],
      ['Other', ['x/alone']],
    ]);
  });

  test('runs of one folder form one group', () => {
    expect(describe([], 'seed1', 'seed2')).toEqual([['All 2 runs', ['seed1', 'seed2']]]);
  });

  test('groups of the table keep their color, and evaluation is dashed', () => {
    const group = { key: 'lr=1', label: 'lr=1', color: '#abc', runs: ['a/train', 'a/eval', 'a'] };
    const bands = makeBandGroups({ groups: [group], visible: [] });
    expect(bands.map(({ label, color, dash }) => [label, color, dash.length > 0])).toEqual([
      ['lr=1 · train', '#abc', false],
      ['lr=1 · evaluation', '#abc', true],
      ['lr=1', '#abc', false],
    ]);
    expect(new Set(bands.map(({ key }) => key)).size).toBe(3);
  });

  test('a chart has the runs of its lines and of complete bands', () => {
    const groups = makeBandGroups({ groups: [], visible: makeRuns('a/1', 'a/2', 'b/1', 'b/2') });
    const lines = [{ run: 'c' }];
    const bands = [
      { group: 'a/', runs: 2 },
      { group: 'b/', runs: 1 },
    ];
    expect([...listChartRuns({ lines, bands }, groups)]).toEqual(['c', 'a/1', 'a/2']);
  });

  test('bands of a large log are those of all selected runs', () => {
    const all = { query: { group: 'a' }, count: 20_000, splits: ['train', 'validation'] };
    const group = { key: 'a', label: 'a', color: '#111', runs: ['a/1/train'], all };
    expect(
      makeBandGroups({ groups: [group], visible: [] }).map((band) => [
        band.label,
        band.runs,
        band.all?.query,
      ]),
    ).toEqual([
      ['a · train', ['a/1/train'], { group: 'a', split: 'train' }],
      ['a · validation', [], { group: 'a', split: 'validation' }],
    ]);
    const selection = { query: {}, count: 20_000, splits: [''] };
    const [band] = makeBandGroups({ groups: [], visible: makeRuns('x', 'y'), selection });
    expect([band?.label, band?.all]).toEqual(['All 20,000 runs', selection]);
  });
});

describe('makeDebuggerAnnotations', () => {
  const rows = [
    { name: 'a', run: 'a', problem_step: 97, problem_time: 1050 },
    { name: 'b', run: 'b', problem_step: null, problem_time: null },
    { name: 'c', run: 'c', problem_step: 5, problem_time: 1010 },
  ];
  const makeLine = (run: string) => ({ run, start: 1000, end: 1100 });

  it('marks the runs on the chart that have a problem', () => {
    expect(makeDebuggerAnnotations(rows, [makeLine('a'), makeLine('b')], 'step')).toEqual([
      { id: 'debugger a', x: 97, text: 'Problem in a' },
    ]);
  });

  it('marks problems on axes of time', () => {
    const getX = (axis: 'wall' | 'relative') =>
      makeDebuggerAnnotations(rows, [makeLine('a')], axis).map(({ x }) => x);
    expect(getX('wall')).toEqual([1050]);
    expect(getX('relative')).toEqual([50]);
  });

  it('marks a dump on runs of the same program', () => {
    const dump = { name: 'fit', run: 'fit', problem_step: null, problem_time: 1050 };
    const getMarks = (run: string, source = dump) =>
      makeDebuggerAnnotations([source], [makeLine(run)], 'wall').length;
    expect(getMarks('fit/train')).toBe(1);
    expect(getMarks('fitted')).toBe(0);
    expect(getMarks('fit', { ...dump, run: 'fit/dump' })).toBe(1);
    expect(getMarks('train', { ...dump, run: '.' })).toBe(1);
    expect(getMarks('fit/train', { ...dump, problem_time: 2000 })).toBe(0);
    // It has no step.
    expect(makeDebuggerAnnotations([dump], [makeLine('fit/train')], 'step')).toEqual([]);
  });

  it('has no place on other axes', () => {
    expect(makeDebuggerAnnotations(rows, [makeLine('a')], 'index')).toEqual([]);
  });
});
