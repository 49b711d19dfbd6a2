import { describe, expect, test } from 'vitest';

import type { HParamCells, MetricCells, SessionRows, SessionsResponse } from '../../../api/schemas';
import { cycleSort, moveKey } from '../../../components/data-table';
import { compileExpression } from '../../../lib/filter-expression';
import { computePositions, getDefaultScale, listScales, makeAxis } from './column-axes';
import {
  applyFilters,
  type ColumnFilter,
  computeBins,
  countBins,
  findBrushOfFilter,
  listMaskRows,
  makeFilterFromBrush,
  startBrushDrag,
  toRunFilterExpression,
  withFilter,
} from './trial-filters';
import { makeColumn, makeTrialsOf } from './trial-test-tools';
import {
  chooseSample,
  formatRawValue,
  formatTrialValue,
  listVisibleColumns,
  sortRows,
} from './trials';
import {
  applyTrialsUpdate,
  joinTrials,
  listCompletedRows,
  listRankedRows,
  readMetrics,
  readTrials,
} from './trials-response';

describe('trials', () => {
  const NO_PREFERENCES = { order: [], hidden: [], added: [] };

  test('shows hyperparameters that vary, then metrics; other columns can be added', () => {
    const columns = [
      makeColumn('m', [1, 2], 'metric'),
      { ...makeColumn('same', [1, 1]), varies: false },
      makeColumn('lr', [1, 2]),
      makeColumn('start', [1, 2], 'info'),
    ];
    const keys = (preferences: Partial<typeof NO_PREFERENCES>): string[] =>
      listVisibleColumns(columns, { ...NO_PREFERENCES, ...preferences }, null).map(
        ({ key }) => key,
      );
    expect(keys({})).toEqual(['lr', 'm']);
    expect(keys({ added: ['start', 'same'] as never })).toEqual(['same', 'lr', 'm', 'start']);
    expect(keys({ order: ['m'] as never })).toEqual(['m', 'lr']);
    expect(keys({ hidden: ['lr'] as never })).toEqual(['m']);
  });

  test('the objective is always visible', () => {
    const metrics = Array.from({ length: 9 }, (_, index) =>
      makeColumn(`m${index}`, [1, 2], 'metric'),
    );
    const keys = listVisibleColumns(metrics, NO_PREFERENCES, 'm8').map(({ key }) => key);
    expect(keys).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm8']);
  });

  test('moves a key before another or to the end', () => {
    expect(moveKey(['a', 'b', 'c'], 'c', 'a')).toEqual(['c', 'a', 'b']);
    expect(moveKey(['a', 'b', 'c'], 'a', null)).toEqual(['b', 'c', 'a']);
    expect(moveKey(['a', 'b', 'c'], 'a', 'c')).toEqual(['b', 'a', 'c']);
    expect(moveKey(['a', 'b'], 'a', 'a')).toEqual(['a', 'b']);
  });

  const SORT_TRIALS = makeTrialsOf(
    makeColumn('units', [64, 32, 64, 32, null]),
    makeColumn('acc', [0.5, 0.9, 0.8, NaN, 0.7], 'metric'),
  );
  const ALL = Int32Array.of(0, 1, 2, 3, 4);

  test('sorts by several columns; rows without a value come last in both directions', () => {
    const [units, acc] = ['units', 'acc'];
    const by = (...keys: [string, boolean][]): number[] => [
      ...sortRows(
        ALL,
        keys.map(([key, descending]) => ({ key, descending })),
        SORT_TRIALS,
      ),
    ];
    expect(by([acc, false])).toEqual([0, 4, 2, 1, 3]);
    expect(by([acc, true])).toEqual([1, 2, 4, 0, 3]);
    expect(by([units, false], [acc, true])).toEqual([1, 3, 2, 0, 4]);
    expect(by([units, true], [acc, false])).toEqual([0, 2, 1, 3, 4]);
    expect(by(['gone', true])).toEqual([0, 1, 2, 3, 4]);
  });

  test('clicks sort ascending, descending and not; with shift, they add a column', () => {
    const ascending = [{ key: 'a', descending: false }];
    const descending = [{ key: 'a', descending: true }];
    expect(cycleSort([], 'a', false)).toEqual(ascending);
    expect(cycleSort(ascending, 'a', false)).toEqual(descending);
    expect(cycleSort(descending, 'a', false)).toEqual([]);
    const keys = cycleSort(ascending, 'b', true);
    expect(keys).toEqual([...ascending, { key: 'b', descending: false }]);
    expect(cycleSort(keys, 'b', true)).toEqual([...ascending, { key: 'b', descending: true }]);
    expect(cycleSort([...ascending, { key: 'b', descending: true }], 'b', true)).toEqual(ascending);
    expect(cycleSort(keys, 'b', false)).toEqual([{ key: 'b', descending: false }]);
  });

  test('a sample has the chosen rows and others at equal distances', () => {
    const rows = Int32Array.from({ length: 100 }, (_, index) => index);
    const sample = chooseSample(rows, Int32Array.of(7, 3), 6);
    expect([...sample]).toEqual([7, 3, 0, 26, 51, 75]);
    expect(chooseSample(rows.slice(0, 4), Int32Array.of(1), 6)).toHaveLength(4);
  });
});

describe('trials response', () => {
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
      makeHParam('mixed', 'mixed', [0, 1, 2], {
        states: Uint8Array.of(2, 3, 0),
        categories: ['x'],
      }),
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
});

describe('joined trials', () => {
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
      ...{
        ...optimizer,
        name: 'lr',
        key: 'hparam:lr',
        label: 'lr',
        type: 'number',
        min: 0,
        max: 99,
      },
      ...{ categories: [], values: floats(indices), states: null },
    };
    const loss: MetricCells = {
      ...{ key: '|loss', group: '', tag: 'loss', label: 'loss', description: '', declared: false },
      ...{
        goal_declared: false,
        goal: 'min',
        min: -50,
        max: 50,
        log_scale: false,
        deviation: null,
      },
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
});

describe('trial filters', () => {
  const FILTER_TRIALS = makeTrialsOf(
    makeColumn('lr', [0.1, 0.01, 0.001, null, NaN]),
    makeColumn('opt', ['adam', 'sgd', 'adamw', 'sgd', null]),
  );

  function passing(filters: Record<string, ColumnFilter>, mask?: Uint8Array): number[] {
    return [...listMaskRows(applyFilters(FILTER_TRIALS, new Map(Object.entries(filters)), mask))];
  }

  test('without filters, all trials of the mask pass', () => {
    expect(passing({})).toEqual([0, 1, 2, 3, 4]);
    expect(passing({}, Uint8Array.of(0, 1, 0, 1, 0))).toEqual([1, 3]);
  });

  test('ranges are inclusive and exclude NaN', () => {
    expect(passing({ lr: { range: [0.001, 0.01] } })).toEqual([1, 2]);
    expect(passing({ lr: { range: [0, 1], blank: true } })).toEqual([0, 1, 2, 3]);
  });

  test('accepted values are compared as text for categories and as numbers for numbers', () => {
    expect(passing({ opt: { values: ['sgd'] } })).toEqual([1, 3]);
    expect(passing({ lr: { values: ['0.1', '1e-3'] } })).toEqual([0, 2]);
    expect(passing({ opt: { values: [] } })).toEqual([]);
  });

  test('a pattern matches anywhere in the value; an invalid one accepts all', () => {
    expect(passing({ opt: { pattern: '^adam' } })).toEqual([0, 2]);
    expect(passing({ lr: { pattern: '01$' } })).toEqual([1, 2]);
    expect(passing({ opt: { pattern: '(' } })).toEqual([0, 1, 2, 3]);
  });

  test('all filters have to hold; filters of unknown columns are ignored', () => {
    expect(
      passing({ opt: { values: ['sgd'] }, lr: { range: [0, 1] }, gone: { range: [0, 0] } }),
    ).toEqual([1]);
  });

  test('an empty filter is removed', () => {
    const filters = withFilter(new Map(), 'lr', { range: [0, 1] });
    expect([...withFilter(filters, 'lr', { pattern: '' })]).toEqual([]);
    expect([...withFilter(filters, 'opt', { values: [] }).keys()]).toEqual(['lr', 'opt']);
    expect([...withFilter(filters, 'lr', null)]).toEqual([]);
  });

  test('a drag moves an end, moves the whole brush, or creates a new one', () => {
    expect(startBrushDrag([0.2, 0.6], 0.6, 100)(0.9)).toEqual([0.2, 0.9]);
    expect(startBrushDrag([0.2, 0.6], 0.2, 100)(0.7)).toEqual([0.6, 0.7]);
    expect(startBrushDrag([0.2, 0.6], 0.4, 100)(0.9)).toEqual([
      expect.closeTo(0.6),
      expect.closeTo(1),
    ]);
    expect(startBrushDrag([0.2, 0.6], 0.9, 100)(0.7)).toEqual([0.7, 0.9]);
    expect(startBrushDrag(null, 0.5, 100)(0.1)).toEqual([0.1, 0.5]);
  });

  const KEYS = ['hparam:lr', 'hparam:my opt', 'metric:|val/acc', 'metric:validation|acc', 'name'];
  const EXPRESSION_TRIALS = makeTrialsOf(...KEYS.map((key) => makeColumn(key, [1])));

  function toExpression(filters: Record<string, ColumnFilter>, reduction = 'last'): string {
    return toRunFilterExpression(EXPRESSION_TRIALS, new Map(Object.entries(filters)), reduction);
  }

  test('filters become an expression of the run filter', () => {
    const expression = toExpression({
      'hparam:lr': { range: [1e-5, 0.01] },
      'hparam:my opt': { values: ['adam', 'sgd 2'] },
      'metric:|val/acc': { range: [0.9, 1] },
      name: { pattern: '^a' },
    });
    expect(expression).toBe(
      'lr >= 0.00001 and lr <= 0.01 and "my opt" in (adam, "sgd 2") and ' +
        'last("val/acc") >= 0.9 and last("val/acc") <= 1 and name ~ "^a"',
    );
    expect('message' in compileExpression(expression)).toBe(false);
  });

  test('filters that the run filter does not support are omitted', () => {
    expect(toExpression({ 'metric:validation|acc': { range: [0, 1] } })).toBe('');
    expect(toExpression({ 'metric:|val/acc': { range: [0, 1] } }, 'mean')).toBe('');
    expect(toExpression({ 'hparam:gone': { range: [0, 1] } })).toBe('');
  });
});

describe('column axes', () => {
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
});
