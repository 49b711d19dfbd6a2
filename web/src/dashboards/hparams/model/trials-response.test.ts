import { expect, test } from 'vitest';

import type { HParamCells, MetricCells, SessionRows, SessionsResponse } from '../../../api/schemas';
import { formatRawValue, formatTrialValue } from './trials';
import {
  applyTrialsUpdate,
  listCompletedRows,
  listRankedRows,
  readMetrics,
  readTrials,
} from './trials-response';
import { applyFilters, type ColumnFilter, listMaskRows } from './trial-filters';

function makeRows(
  names: readonly string[],
  at: readonly number[],
  status: readonly number[],
): SessionRows {
  const none = Float64Array.from(names, () => NaN);
  return {
    indices: Int32Array.from(at),
    names,
    labels: names,
    groups: Int32Array.from(at),
    group_names: names,
    counts: Int32Array.from(names, () => 1),
    sessions: null,
    status: Uint8Array.from(status),
    start: Float64Array.from(names, () => 1000),
    end: none,
    last_logged: Float64Array.from(names, () => 1060),
    source: Uint8Array.from(names, () => 0),
    studies: Int32Array.from(names, () => 0),
    links: {},
  };
}

function makeHParam(
  name: string,
  type: HParamCells['type'],
  values: number[],
  more: Partial<HParamCells>,
): HParamCells {
  const words: string[] = [];
  return {
    ...{ name, key: `hparam:${name}`, label: name, description: '', type, varies: true },
    ...{
      numeric: type === 'number',
      declared: false,
      distinct: values.length,
      min: null,
      max: null,
      log_scale: false,
    },
    ...{ categories: words, values: Float64Array.from(values), states: null },
    ...more,
  };
}

function makeMetric(group: string, values: number[], steps: number[]): MetricCells {
  const [key, tag] = [`${group}|acc`, 'acc'];
  const columns = {
    values: Float64Array.from(values),
    steps: Float64Array.from(steps),
    deviation: null,
    ...{ min: null, max: null, log_scale: false },
  };
  return {
    key,
    group,
    tag,
    label: tag,
    description: '',
    declared: false,
    goal: 'max',
    goal_declared: false,
    ...columns,
  };
}

const RESPONSE: SessionsResponse = {
  revision: '1',
  since: null,
  studies: [{ name: '.', label: '', sessions: 2 }],
  rows: makeRows(['a', 'b', 'c'], [0, 1, 2], [0, 1, 0]),
  hparams: [
    makeHParam('lr', 'number', [0.1, NaN, NaN], { states: Uint8Array.of(0, 1, 0) }),
    makeHParam('mixed', 'mixed', [0, 1, 2], { states: Uint8Array.of(2, 3, 0), categories: ['x'] }),
  ],
  metrics: [
    makeMetric('', [0.5, NaN, NaN], [9, 9, NaN]),
    makeMetric('val', [0.4, 0.6, 0.7], [9, 9, 9]),
  ],
  notes: [],
  repeats: 0,
};

test('a text in a column of numbers leaves an axis of numbers', () => {
  const hparams = [
    makeHParam('batch', 'mixed', [32, 0.30000000000000004, 0, 64], {
      ...{ states: Uint8Array.of(0, 0, 2, 0), categories: ['auto'], numeric: true },
    }),
  ];
  const rows = makeRows(['a', 'b', 'c', 'd'], [0, 1, 2, 3], [0, 0, 0, 0]);
  const trials = readTrials({ ...RESPONSE, rows, hparams, metrics: [] }, 1100);
  const column = trials.findColumn('hparam:batch');
  if (!column) throw new Error('no column');
  expect(column.categories).toBeNull();
  expect([...column.values]).toEqual([32, 0.30000000000000004, NaN, 64]);
  expect([0, 1, 2, 3].map((row) => formatTrialValue(column, row))).toEqual([
    '32',
    '0.3',
    'auto',
    '64',
  ]);
  const passing = (filter: ColumnFilter): number[] => [
    ...listMaskRows(applyFilters(trials, new Map([[column.key, filter]]))),
  ];
  expect(passing({ range: [1, 50] })).toEqual([0]);
  expect(passing({ range: [1, 50], blank: true })).toEqual([0, 2]);
});

test('an empty text has a label, and equal texts of different types are one category', () => {
  const hparams = [
    makeHParam('mode', 'mixed', [0, 7, 1, 0, 0.5], {
      ...{ states: Uint8Array.of(2, 0, 2, 1, 0), categories: ['', '7'] },
    }),
  ];
  const names = ['a', 'b', 'c', 'd', 'e'];
  const rows = makeRows(names, [0, 1, 2, 3, 4], [0, 0, 0, 0, 0]);
  const column = readTrials({ ...RESPONSE, rows, hparams, metrics: [] }, 1100).findColumn(
    'hparam:mode',
  );
  if (!column) throw new Error('no column');
  expect(column.categories).toEqual(['', '0.5', '7']);
  expect([...column.values]).toEqual([0, 2, 2, NaN, 1]);
  expect(names.map((_, row) => formatTrialValue(column, row))).toEqual([
    '(empty)',
    '7',
    '7',
    '–',
    '0.5',
  ]);
  // Exports have the value itself.
  expect(formatRawValue(column, 0)).toBe('');
});

test('values of any type become columns; missing is not the same as NaN', () => {
  const trials = readTrials(RESPONSE, 1100);
  const texts = (key: string): (string | null)[] => {
    const column = trials.findColumn(key);
    return [0, 1, 2].map((row) => (column ? formatRawValue(column, row) : 'no column'));
  };
  expect(texts('hparam:lr')).toEqual(['0.1', null, 'NaN']);
  expect(texts('hparam:mixed')).toEqual(['x', 'true', '2']);
  expect(texts('metric:|acc')).toEqual(['0.5', 'NaN', null]);
  expect(texts('status')).toEqual(['running', 'success', 'running']);
  const status = trials.findColumn('status');
  expect(status && formatTrialValue(status, 1)).toBe('Succeeded');
  const duration = trials.findColumn('duration');
  expect(duration && formatTrialValue(duration, 0)).toBe('1 min');
});

test('aggregated repeats have a deviation', () => {
  const deviation = Float64Array.of(0.0123, 0, NaN);
  const metrics = [{ ...makeMetric('', [0.5, 0.6, 0.7], [9, 9, 9]), deviation }];
  const column = readTrials({ ...RESPONSE, metrics }, 0).findColumn('metric:|acc');
  expect([0, 1, 2].map((row) => column && formatTrialValue(column, row))).toEqual([
    '0.5 ± 0.012',
    '0.6',
    '0.7',
  ]);
});

test('metrics of the same name have their group in the title', () => {
  expect(readMetrics(RESPONSE).map(({ title }) => title)).toEqual(['acc', 'val/acc']);
});

test('updates are merged, also if categories have a new order', () => {
  const update: SessionsResponse = {
    ...RESPONSE,
    revision: '2',
    since: '1',
    rows: makeRows(['b', 'd'], [1, 3], [2, 3]),
    hparams: [
      makeHParam('lr', 'number', [0.2, 0.3], {}),
      makeHParam('mixed', 'mixed', [0, 1], {
        states: Uint8Array.of(2, 2),
        categories: ['new', 'x'],
      }),
    ],
    metrics: [makeMetric('', [0.8, 0.9], [10, 1]), makeMetric('val', [0.1, 0.2], [10, 1])],
  };
  const trials = readTrials(applyTrialsUpdate(RESPONSE, update), 9999);
  const texts = (key: string): (string | null)[] => {
    const column = trials.findColumn(key);
    return [0, 1, 2, 3].map((row) => (column ? formatRawValue(column, row) : 'no column'));
  };
  expect(trials.names).toEqual(['a', 'b', 'c', 'd']);
  expect(texts('hparam:lr')).toEqual(['0.1', '0.2', 'NaN', '0.3']);
  expect(texts('hparam:mixed')).toEqual(['x', 'new', '2', 'x']);
  expect(texts('metric:|acc')).toEqual(['0.5', '0.8', null, '0.9']);
  expect(texts('status')).toEqual(['unknown', 'failure', 'unknown', 'running']);
});

test('an update without changes keeps the rows', () => {
  const empty = makeRows([], [], []);
  const update = {
    ...RESPONSE,
    revision: '5',
    since: '1',
    rows: empty,
    hparams: RESPONSE.hparams.map((cells) => ({
      ...cells,
      values: new Float64Array(),
      states: null,
    })),
  };
  const merged = applyTrialsUpdate(RESPONSE, update);
  expect(merged.rows).toBe(RESPONSE.rows);
  expect(merged.revision).toBe('5');
});

test('trials that were pruned, failed or are running have no result, infeasible ones no rank', () => {
  const [unknown, success, failure, running, pruned, infeasible] = [0, 1, 2, 3, 4, 5];
  const status = Uint8Array.of(success, pruned, failure, unknown, running, success, infeasible);
  const rows = Int32Array.of(6, 5, 4, 3, 2, 1);
  expect([...listRankedRows(rows, status)]).toEqual([5, 3]);
  expect([...listCompletedRows(rows, status)]).toEqual([6, 5, 3]);
});
