import { describe, expect, test } from 'vitest';

import { computePositions, getDefaultScale, listScales, makeAxis } from './column-axes';
import {
  applyFilters,
  computeBins,
  countBins,
  findBrushOfFilter,
  listMaskRows,
  makeFilterFromBrush,
} from './trial-filters';
import { makeColumn, makeTrialsOf } from './trial-test-tools';

const RATES = makeColumn('lr', [0.0001, 0.001, 0.01, 0.1, null]);
const CATEGORIES = makeColumn('opt', ['adam', 'rms', 'sgd', 'adam']);
const MANY = makeColumn(
  'wd',
  Array.from({ length: 101 }, (_, row) => row ** 2),
);

describe('positions', () => {
  test('go from the minimum to the maximum by value, logarithm or rank', () => {
    expect(
      [...computePositions(makeAxis(RATES, 'log'))].map((position) => +position.toFixed(3)),
    ).toEqual([0, 0.333, 0.667, 1, NaN]);
    expect(makeAxis(RATES, 'linear').toPosition(0.05)).toBeCloseTo(0.4995);
    expect(makeAxis(MANY, 'quantile').toPosition(2500)).toBeCloseTo(0.5);
    expect(makeAxis(MANY, 'quantile').toValue(0.5)).toBe(2500);
  });

  test('can be inverted, and map back to values', () => {
    const axis = makeAxis(MANY, 'linear', true);
    expect(axis.toPosition(0)).toBe(1);
    expect(axis.toValue(axis.toPosition(400))).toBeCloseTo(400);
  });

  test('are the mean rank for equal values', () => {
    const axis = makeAxis(makeColumn('x', [1, 1, 1, 2, 2]), 'quantile');
    expect(axis.toPosition(1)).toBeCloseTo(0.25);
    expect(axis.toPosition(2)).toBeCloseTo(0.875);
  });

  test('of categories are equally spaced', () => {
    expect([...computePositions(makeAxis(CATEGORIES, 'log'))]).toEqual(
      [1 / 6, 3 / 6, 5 / 6, 1 / 6].map(Math.fround),
    );
  });
});

test('positive columns have a log scale; it is the default if most values are small', () => {
  expect(listScales(RATES)).toContain('log');
  expect(listScales(MANY)).not.toContain('log');
  expect(getDefaultScale(RATES)).toBe('log');
  expect(getDefaultScale(makeColumn('dropout', [0.001, 0.1, 0.2, 0.3, 0.4]))).toBe('linear');
  expect(makeAxis(MANY, 'log').scale).toBe('linear');
});

test('discrete axes have a tick for each value', () => {
  expect(makeAxis(RATES, 'log').ticks.map(({ text }) => text)).toEqual([
    '0.0001',
    '0.001',
    '0.01',
    '0.1',
  ]);
  expect(makeAxis(MANY, 'linear').ticks.length).toBeLessThan(10);
});

test('a column without values has an axis without ticks', () => {
  for (const scale of ['linear', 'log', 'quantile'] as const) {
    const axis = makeAxis(makeColumn('gone', [NaN, NaN], 'metric'), scale);
    expect(axis.ticks).toEqual([]);
    expect([...computePositions(axis)]).toEqual([NaN, NaN]);
  }
});

test('a brush accepts the trials under it on every scale', () => {
  for (const scale of ['linear', 'log', 'quantile'] as const) {
    const axis = makeAxis(RATES, scale);
    const from = (axis.toPosition(0.001) + axis.toPosition(0.0001)) / 2;
    const filter = makeFilterFromBrush(axis, [from, axis.toPosition(0.01)]);
    const passing = applyFilters(makeTrialsOf(RATES), new Map([['lr', filter]]));
    expect([...listMaskRows(passing)]).toEqual([1, 2]);
    const brush = findBrushOfFilter(axis, filter);
    expect(brush?.[0]).toBeCloseTo(from, 4);
    expect(brush?.[1]).toBeCloseTo(axis.toPosition(0.01), 4);
  }
});

test('a brush accepts categories; categories with gaps have no brush', () => {
  const axis = makeAxis(CATEGORIES, 'linear');
  expect(makeFilterFromBrush(axis, [0.4, 1])).toEqual({ values: ['rms', 'sgd'] });
  expect(findBrushOfFilter(axis, { values: ['rms', 'sgd'] })).toEqual([
    expect.closeTo(1 / 3),
    expect.closeTo(1),
  ]);
  expect(findBrushOfFilter(axis, { values: ['adam', 'sgd'] })).toBeNull();
  expect(makeFilterFromBrush(makeAxis(CATEGORIES, 'linear', true), [0.4, 1])).toEqual({
    values: ['adam', 'rms'],
  });
});

test('histograms count all and passing trials', () => {
  const positions = Float32Array.of(0, 0.1, 0.5, 1, NaN);
  const bins = computeBins(positions, 2);
  expect([...countBins(bins, 2)]).toEqual([2, 2]);
  expect([...countBins(bins, 2, Uint8Array.of(1, 0, 1, 0, 1))]).toEqual([1, 1]);
});
