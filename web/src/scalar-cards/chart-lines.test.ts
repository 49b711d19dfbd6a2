import { expect, test } from 'vitest';

import type { Line } from '../charts/types';
import { marginBands } from './chart-lines';

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

test('three lines of a run become a band', () => {
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

test('edges that were logged elsewhere are looked at between their places, never beyond', () => {
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

test('a run without all three has no band', () => {
  expect(marginBands([line('b', 'loss', [0], [1]), line('b', 'low', [0], [0])], CARD)).toEqual([]);
});

test('a band is never smooth', () => {
  const smooth = (tag: string, raw: number): Line => ({
    ...line('a', tag, [0], [50]),
    raw: Float64Array.of(raw),
  });
  const [band] = marginBands([smooth('loss', 2), smooth('low', 1), smooth('high', 3)], CARD);
  expect([band?.low[0], band?.center[0], band?.high[0]]).toEqual([1, 2, 3]);
});
