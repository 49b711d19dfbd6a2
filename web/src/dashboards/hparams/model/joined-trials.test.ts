import { expect, test } from 'vitest';

import type { HParamCells, MetricCells, SessionsResponse } from '../../../api/schemas';
import { joinTrials, readTrials } from './trials-response';
import { formatRawValue } from './trials';

/** A response with some rows of a table in which row N is named `trial-N`. */
function makePart(indices: number[], words: string[], withMetric = true): SessionsResponse {
  const floats = (values: number[]): Float64Array => Float64Array.from(values);
  const optimizer: HParamCells = {
    ...{ name: 'optimizer', key: 'hparam:optimizer', label: 'optimizer', description: '' },
    ...{ type: 'string', declared: false, distinct: 3, varies: true, numeric: false },
    ...{ min: null, max: null, log_scale: false },
    categories: [...new Set(words)],
    values: floats(words.map((word) => [...new Set(words)].indexOf(word))),
    states: Uint8Array.from(words, () => 2),
  };
  const lr: HParamCells = {
    ...{ ...optimizer, name: 'lr', key: 'hparam:lr', label: 'lr', type: 'number', min: 0, max: 99 },
    ...{ categories: [], values: floats(indices), states: null },
  };
  const loss: MetricCells = {
    ...{
      key: '|loss',
      group: '',
      tag: 'loss',
      label: 'loss',
      description: '',
      declared: false,
      goal_declared: false,
    },
    ...{ goal: 'min', min: -50, max: 50, log_scale: false, deviation: null },
    values: floats(withMetric ? indices.map((index) => -index) : []),
    steps: floats(withMetric ? indices.map(() => 1) : []),
  };
  const zeros = indices.map(() => 0);
  return {
    ...{ revision: '', since: null, studies: [{ name: '.', label: '', sessions: 100 }] },
    rows: {
      indices: Int32Array.from(indices),
      names: indices.map((index) => `trial-${index}`),
      labels: indices.map((index) => `trial-${index}`),
      groups: Int32Array.from(indices, (_, at) => at),
      group_names: indices.map((index) => `group-${index}`),
      counts: Int32Array.from(indices, () => 1),
      sessions: null,
      status: Uint8Array.from(zeros),
      start: floats(indices),
      end: floats(zeros),
      last_logged: floats(zeros),
      source: Uint8Array.from(zeros),
      studies: Int32Array.from(zeros),
      links: {},
    },
    hparams: [lr, optimizer],
    metrics: [loss],
    notes: [],
    repeats: 0,
  };
}

test('rows of several responses are joined, each once', () => {
  const joined = joinTrials([
    makePart([7, 3], ['adam', 'sgd']),
    makePart([3, 40, 2], ['sgd', 'lion', 'adam']),
  ]);
  if (!joined) throw new Error('no table');
  expect([...joined.rowOf]).toEqual([
    [7, 0],
    [3, 1],
    [40, 2],
    [2, 3],
  ]);
  const trials = readTrials(joined.table, 0, true);
  const read = (key: string): (string | null)[] => {
    const column = trials.findColumn(key);
    if (!column) throw new Error(key);
    return [0, 1, 2, 3].map((row) => formatRawValue(column, row));
  };
  expect(trials.names).toEqual(['trial-7', 'trial-3', 'trial-40', 'trial-2']);
  expect(read('hparam:optimizer')).toEqual(['adam', 'sgd', 'lion', 'adam']);
  expect(read('hparam:lr')).toEqual(['7', '3', '40', '2']);
  expect(read('metric:|loss')).toEqual(['-7', '-3', '-40', '-2']);
  expect(trials.findColumn('hparam:lr')?.range).toEqual([0, 99]);
  const { groups, group_names } = joined.table.rows;
  expect([...groups].map((group) => group_names[group])).toEqual([
    'group-7',
    'group-3',
    'group-40',
    'group-2',
  ]);
});

test('cells that a response does not have are missing', () => {
  const joined = joinTrials([makePart([1], ['adam']), makePart([2], ['adam'], false)]);
  const column = joined && readTrials(joined.table, 0, true).findColumn('metric:|loss');
  if (!column) throw new Error('no column');
  expect([0, 1].map((row) => formatRawValue(column, row))).toEqual(['-1', null]);
});

test('there is no table without responses', () => {
  expect(joinTrials([])).toBeUndefined();
});
