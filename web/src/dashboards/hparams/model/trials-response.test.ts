import { expect, test } from 'vitest';

import { formatRawValue, formatTrialValue } from './trials';
import type { HParamCells, MetricCells, SessionRows, SessionsResponse } from '../schemas';
import { applyTrialsUpdate, readMetrics, readTrials } from './trials-response';

function rowsOf(
  names: readonly string[],
  at: readonly number[],
  status: readonly number[],
): SessionRows {
  const none = Float64Array.from(names, () => NaN);
  return {
    at: Int32Array.from(at),
    names,
    labels: names,
    groups: Int32Array.from(at),
    group_names: names,
    counts: Int32Array.from(names, () => 1),
    sessions: null,
    status: Uint8Array.from(status),
    start: Float64Array.from(names, () => 1000),
    end: none,
    last: Float64Array.from(names, () => 1060),
  };
}

function hparam(
  name: string,
  type: HParamCells['type'],
  values: number[],
  more: Partial<HParamCells>,
): HParamCells {
  const words: string[] = [];
  return {
    ...{ name, key: `hparam:${name}`, label: name, description: '', type, differs: true },
    ...{ words, values: Float64Array.from(values), states: null },
    ...more,
  };
}

function metric(group: string, values: number[], steps: number[]): MetricCells {
  const [key, tag] = [`${group}|acc`, 'acc'];
  const columns = {
    values: Float64Array.from(values),
    steps: Float64Array.from(steps),
    deviation: null,
  };
  return { key, group, tag, label: tag, description: '', declared: false, goal: 'max', ...columns };
}

const ANSWER: SessionsResponse = {
  revision: 1,
  base: null,
  rows: rowsOf(['a', 'b', 'c'], [0, 1, 2], [0, 1, 0]),
  hparams: [
    hparam('lr', 'number', [0.1, NaN, NaN], { states: Uint8Array.of(0, 1, 0) }),
    hparam('mixed', 'mixed', [0, 1, 2], { states: Uint8Array.of(2, 3, 0), words: ['x'] }),
  ],
  metrics: [metric('', [0.5, NaN, NaN], [9, 9, NaN]), metric('val', [0.4, 0.6, 0.7], [9, 9, 9])],
  notes: [],
  repeats: 0,
};

test('values of any kind become columns, and no value is not the same as NaN', () => {
  const sessions = readTrials(ANSWER, 1100);
  const texts = (key: string): (string | null)[] => {
    const column = sessions.findColumn(key);
    return [0, 1, 2].map((row) => (column ? formatRawValue(column, row) : 'no column'));
  };
  expect(texts('hparam:lr')).toEqual(['0.1', null, 'NaN']);
  expect(texts('hparam:mixed')).toEqual(['x', 'true', '2']);
  expect(texts('metric:|acc')).toEqual(['0.5', 'NaN', null]);
  expect(texts('status')).toEqual(['running', 'success', 'running']);
  const duration = sessions.findColumn('duration');
  expect(duration && formatTrialValue(duration, 0)).toBe('1 min');
});

test('of repeats that are one row it is told how far they lie apart', () => {
  const deviation = Float64Array.of(0.0123, 0, NaN);
  const metrics = [{ ...metric('', [0.5, 0.6, 0.7], [9, 9, 9]), deviation }];
  const column = readTrials({ ...ANSWER, metrics }, 0).findColumn('metric:|acc');
  expect([0, 1, 2].map((row) => column && formatTrialValue(column, row))).toEqual([
    '0.5 ± 0.012',
    '0.6',
    '0.7',
  ]);
});

test('metrics of the same name are told apart by their group', () => {
  expect(readMetrics(ANSWER).map(({ title }) => title)).toEqual(['acc', 'val/acc']);
});

test('what has changed since is put in its place, with words in a new order', () => {
  const news: SessionsResponse = {
    ...ANSWER,
    revision: 2,
    base: 1,
    rows: rowsOf(['b', 'd'], [1, 3], [2, 3]),
    hparams: [
      hparam('lr', 'number', [0.2, 0.3], {}),
      hparam('mixed', 'mixed', [0, 1], { states: Uint8Array.of(2, 2), words: ['new', 'x'] }),
    ],
    metrics: [metric('', [0.8, 0.9], [10, 1]), metric('val', [0.1, 0.2], [10, 1])],
  };
  const sessions = readTrials(applyTrialsUpdate(ANSWER, news), 9999);
  const texts = (key: string): (string | null)[] => {
    const column = sessions.findColumn(key);
    return [0, 1, 2, 3].map((row) => (column ? formatRawValue(column, row) : 'no column'));
  };
  expect(sessions.names).toEqual(['a', 'b', 'c', 'd']);
  expect(texts('hparam:lr')).toEqual(['0.1', '0.2', 'NaN', '0.3']);
  expect(texts('hparam:mixed')).toEqual(['x', 'new', '2', 'x']);
  expect(texts('metric:|acc')).toEqual(['0.5', '0.8', null, '0.9']);
  expect(texts('status')).toEqual(['unknown', 'failure', 'unknown', 'running']);
});

test('an answer without news leaves everything as it is', () => {
  const empty = rowsOf([], [], []);
  const news = {
    ...ANSWER,
    revision: 5,
    base: 1,
    rows: empty,
    hparams: ANSWER.hparams.map((one) => ({ ...one, values: new Float64Array(), states: null })),
  };
  const joined = applyTrialsUpdate(ANSWER, news);
  expect(joined.rows).toBe(ANSWER.rows);
  expect(joined.revision).toBe(5);
});
