import { describe, expect, test } from 'vitest';

import { makeAxis, placesOn, scalesOf, usualScale } from './axis';
import { brushOfRule, ruleOfBrush } from './brush';
import { histogramOf } from './histogram';
import { findPassing, rowsOf } from './rules';
import { columnOf, sessionsOf } from './samples';

const RATES = columnOf('lr', [0.0001, 0.001, 0.01, 0.1, null]);
const WORDS = columnOf('opt', ['adam', 'rms', 'sgd', 'adam']);
const MANY = columnOf(
  'wd',
  Array.from({ length: 101 }, (_, row) => row ** 2),
);

describe('places', () => {
  test('go from the smallest to the largest by value, logarithm or rank', () => {
    expect([...placesOn(makeAxis(RATES, 'log'))].map((place) => +place.toFixed(3))).toEqual([
      0,
      0.333,
      0.667,
      1,
      NaN,
    ]);
    expect(makeAxis(RATES, 'linear').at(0.05)).toBeCloseTo(0.4995);
    expect(makeAxis(MANY, 'quantile').at(2500)).toBeCloseTo(0.5);
    expect(makeAxis(MANY, 'quantile').valueAt(0.5)).toBe(2500);
  });

  test('can be turned around, and a value is found again', () => {
    const axis = makeAxis(MANY, 'linear', true);
    expect(axis.at(0)).toBe(1);
    expect(axis.valueAt(axis.at(400))).toBeCloseTo(400);
  });

  test('equal values share the middle of their ranks', () => {
    const axis = makeAxis(columnOf('x', [1, 1, 1, 2, 2]), 'quantile');
    expect(axis.at(1)).toBeCloseTo(0.25);
    expect(axis.at(2)).toBeCloseTo(0.875);
  });

  test('of words are equally far apart', () => {
    expect([...placesOn(makeAxis(WORDS, 'log'))]).toEqual(
      [1 / 6, 3 / 6, 5 / 6, 1 / 6].map(Math.fround),
    );
  });
});

test('a logarithm is offered for what is positive, and usual where values crowd at the low end', () => {
  expect(scalesOf(RATES)).toContain('log');
  expect(scalesOf(MANY)).not.toContain('log');
  expect(usualScale(RATES)).toBe('log');
  expect(usualScale(columnOf('dropout', [0.001, 0.1, 0.2, 0.3, 0.4]))).toBe('linear');
  expect(makeAxis(MANY, 'log').scale).toBe('linear');
});

test('few values are all written at the axis', () => {
  expect(makeAxis(RATES, 'log').ticks.map(({ text }) => text)).toEqual([
    '0.0001',
    '0.001',
    '0.01',
    '0.1',
  ]);
  expect(makeAxis(MANY, 'linear').ticks.length).toBeLessThan(10);
});

test('a column without any number has an axis without marks', () => {
  for (const scale of ['linear', 'log', 'quantile'] as const) {
    const axis = makeAxis(columnOf('gone', [NaN, NaN], 'metric'), scale);
    expect(axis.ticks).toEqual([]);
    expect([...placesOn(axis)]).toEqual([NaN, NaN]);
  }
});

test('a brush lets through what is under it, whatever the scale', () => {
  for (const scale of ['linear', 'log', 'quantile'] as const) {
    const axis = makeAxis(RATES, scale);
    const from = (axis.at(0.001) + axis.at(0.0001)) / 2;
    const rule = ruleOfBrush(axis, [from, axis.at(0.01)]);
    const passing = findPassing(sessionsOf(RATES), new Map([['lr', rule]]));
    expect([...rowsOf(passing)]).toEqual([1, 2]);
    const brush = brushOfRule(axis, rule);
    expect(brush?.[0]).toBeCloseTo(from, 4);
    expect(brush?.[1]).toBeCloseTo(axis.at(0.01), 4);
  }
});

test('a brush over words picks those in it, and words that are not neighbours have no brush', () => {
  const axis = makeAxis(WORDS, 'linear');
  expect(ruleOfBrush(axis, [0.4, 1])).toEqual({ values: ['rms', 'sgd'] });
  expect(brushOfRule(axis, { values: ['rms', 'sgd'] })).toEqual([
    expect.closeTo(1 / 3),
    expect.closeTo(1),
  ]);
  expect(brushOfRule(axis, { values: ['adam', 'sgd'] })).toBeNull();
  expect(ruleOfBrush(makeAxis(WORDS, 'linear', true), [0.4, 1])).toEqual({
    values: ['adam', 'rms'],
  });
});

test('histograms count all and those that pass', () => {
  const places = Float32Array.of(0, 0.1, 0.5, 1, NaN);
  const { all, passing, most } = histogramOf(places, Uint8Array.of(1, 0, 1, 0, 1), 2);
  expect([[...all], [...passing], most]).toEqual([[2, 2], [1, 1], 2]);
});
