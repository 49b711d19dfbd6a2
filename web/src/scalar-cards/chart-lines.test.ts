import { expect, test } from 'vitest';

import type { Line } from '../charts/types';
import { captureFlags, getCountRange, makeBands, marginBands } from './chart-lines';

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
  const [band] = marginBands(
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
  const [band] = marginBands(
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
  expect(marginBands([line('b', 'loss', [0], [1]), line('b', 'low', [0], [0])], CARD)).toEqual([]);
});

test('a band is not smoothed', () => {
  const smooth = (tag: string, raw: number): Line => ({
    ...line('a', tag, [0], [50]),
    raw: Float64Array.of(raw),
  });
  const [band] = marginBands([smooth('loss', 2), smooth('low', 1), smooth('high', 3)], CARD);
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
};

test('a band has the color, name and count of its group', () => {
  const response = { id: 'c', runs: 3, points: 9, reduced: false, error: null, grid: null };
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
  expect(captureFlags(CAPTURES, ['one', 'two'], 'step')).toEqual([
    { id: 'capture a', x: 20, text: 'Profile of one' },
  ]));

test('captures are marked at their time', () =>
  expect(captureFlags(CAPTURES, ['one', 'two'], 'wall').map(({ x }) => x)).toEqual([
    1_700_000_000, 1_700_000_100,
  ]));

test('only captures of runs in the chart are marked, on axes of time and step', () => {
  expect(captureFlags(CAPTURES, ['two'], 'wall')).toHaveLength(1);
  expect(captureFlags(CAPTURES, ['one'], 'metric:loss')).toEqual([]);
});

test('too many captures are not marked', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ ...CAPTURES[0], id: `${at}`, step: at }));
  expect(captureFlags(many as typeof CAPTURES, ['one'], 'step')).toEqual([]);
});
