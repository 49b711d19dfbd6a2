import { describe, expect, test } from 'vitest';

import type { ColumnRow, DifferenceResponse, PlotRow, ResultResponse } from '../../api/schemas';
import type { ExportContents } from '../../api/static/static-transport';
import { toCsv } from '../../cards/export';
import { makePlotLines, makeSteps, mergeBins } from '../../charts/evaluation/plot-lines';
import { isConditions, makeConditionMask } from '../what_if/slices';
import {
  adjustPValues,
  formatPercent,
  formatPValue,
  makeDifferenceRows,
  rankGaps,
  selectDifferences,
} from './differences';
import {
  computeConfusion,
  getCell,
  getDefaultMetrics,
  getDefaultSlices,
  getDefaultThreshold,
  judgeDifference,
  listMetrics,
  listThresholds,
  makeSliceHistogram,
  selectColumns,
  sortEvaluations,
} from './evaluation-model';
import { makeDifferenceTable, toMarkdown } from './fairness-export';
import { findMetricInfo, getMetricLabel, isCountMetric, parseMetricName } from './metric-info';
import { toUrlCondition } from './query';
import {
  computeDifferences,
  fairnessHandlers,
  getHalfWidth,
  getTwoSidedPValue,
} from './static-fairness';

function makeColumn(metric: string, threshold: number | null = null): ColumnRow {
  return { metric, threshold, output: null, direction: 'higher' };
}

/** Return a result with one row of values for each slice; intervals are ± 0.1. */
function makeTestResult(
  slices: Readonly<Record<string, readonly number[]>>,
  columns: readonly ColumnRow[],
  more: Partial<ResultResponse> = {},
): ResultResponse {
  const value = Float64Array.from(Object.values(slices).flat());
  return {
    id: 'a',
    model: '',
    models: [{ name: '', is_baseline: false }],
    task: 'binary',
    slices: Object.keys(slices),
    keys: Object.keys(slices).map((name) => [['sex', name] as const]),
    counts: Float64Array.from(Object.keys(slices), (_, at) => 1000 - 100 * at),
    columns,
    value,
    lower: value.map((one) => one - 0.1),
    upper: value.map((one) => one + 0.1),
    method: 'jackknife',
    samples: 20,
    confidence: 0.95,
    has_replicates: true,
    replicates: null,
    plot_slices: new Float64Array(),
    outputs: [],
    warnings: [],
    omitted: [],
    problems: [],
    validation: null,
    attributions: [],
    columns_used: {},
    ...more,
  };
}

/** Scores 0.2 (negative), 0.4 (positive), 0.6 (negative) and 0.8 (positive), once each. */
function makeTestPlot(more: Partial<PlotRow> = {}): PlotRow {
  return {
    slice: 0,
    output: '',
    roc_threshold: Float64Array.of(0.8, 0.6, 0.4, 0.2, -Infinity),
    false_positive_rate: Float64Array.of(0, 0, 0.5, 0.5, 1),
    true_positive_rate: Float64Array.of(0, 0.5, 0.5, 1, 1),
    pr_threshold: Float64Array.of(0.6, 0.2),
    precision: Float64Array.of(1, 2 / 3),
    recall: Float64Array.of(0.5, 1),
    calibration_edges: Float64Array.of(0, 0.5, 1),
    mean_score: Float64Array.of(0.3, NaN),
    positive_share: Float64Array.of(0.5, NaN),
    calibration_weight: Float64Array.of(2, 0),
    distribution_edges: Float64Array.of(0, 0.5, 1),
    negative: Float64Array.of(1, 1),
    positive: Float64Array.of(1, 1),
    ...more,
  };
}

/** Return differences to a slice, without intervals. */
function makeTestDifferences(result: ResultResponse, baseline: number): DifferenceResponse {
  const width = result.columns.length;
  const unknown = new Float64Array(result.value.length).fill(NaN);
  const baseline_value = result.value.map(
    (_, at) => result.value[baseline * width + (at % width)] ?? NaN,
  );
  const difference = result.value.map((value, at) => value - (baseline_value[at] ?? NaN));
  return {
    slices: result.slices,
    columns: result.columns.map((_, at) => at),
    baseline_value,
    difference,
    lower: unknown,
    upper: unknown,
    relative: difference.map((value, at) => value / (baseline_value[at] ?? NaN)),
    relative_lower: unknown,
    relative_upper: unknown,
    p_value: unknown,
    adjusted_p_value: unknown,
    comparisons: 0,
    gaps: [],
  };
}

describe('evaluation model', () => {
  const columns = [
    makeColumn('custom'),
    makeColumn('recall', 0.9),
    makeColumn('recall', 0.1),
    makeColumn('accuracy', 0.5),
  ];
  const result = makeTestResult({ Overall: [1, 2, 3, 4], F: [5, 6, 7, 8] }, columns);

  test('known metrics come first and thresholds are sorted as numbers', () => {
    expect(listMetrics(result)).toEqual(['accuracy', 'recall', 'custom']);
    expect(listThresholds(makeTestResult({}, [makeColumn('a', 10), makeColumn('a', 9)]))).toEqual([
      9, 10,
    ]);
    expect(getDefaultThreshold([0.1, 0.5, 0.7, 0.9])).toBe(0.5);
    expect(getDefaultThreshold([0.1, 0.2, 0.3])).toBe(0.2);
    expect(getDefaultThreshold([])).toBeUndefined();
  });

  test('columns are selected by metric, threshold and output', () => {
    const choice = { metrics: ['recall', 'custom'], thresholds: [0.1, 0.9], outputs: [] };
    expect(selectColumns(result, choice)).toEqual([2, 1, 0]);
    expect(selectColumns(result, { ...choice, thresholds: [0.9] })).toEqual([1, 0]);
    expect(getCell(result, 1, 2)).toEqual({ value: 7, lower: 6.9, upper: 7.1 });
  });

  test('counts are not among the default metrics', () => {
    const counted = makeTestResult({}, [makeColumn('example_count'), makeColumn('auc')]);
    expect(getDefaultMetrics(counted)).toEqual(['auc']);
  });

  test('of many slices, the largest and the baseline are selected', () => {
    const names = Array.from({ length: 30 }, (_, at) => `s${at}`);
    const many = makeTestResult(
      Object.fromEntries(names.map((name) => [name, [0]])),
      [makeColumn('auc')],
      { counts: Float64Array.from(names, (_, at) => at) },
    );
    expect(getDefaultSlices(many, 's0')).toEqual(['s0', ...names.slice(21)]);
    expect(getDefaultSlices(result, 'Overall')).toEqual(['Overall', 'F']);
  });

  test('whether a difference is good depends on the metric', () => {
    expect(judgeDifference('higher', 0.1)).toBe('better');
    expect(judgeDifference('lower', 0.1)).toBe('worse');
    expect(judgeDifference('neutral', 0.1)).toBe('neutral');
    expect(judgeDifference('higher', NaN)).toBe('neutral');
  });

  test('the histogram counts every slice with a value once', () => {
    const buckets = makeSliceHistogram([0, 0.1, 0.5, 1, NaN], 4);
    expect(buckets.map(({ slices }) => slices)).toEqual([2, 0, 1, 1]);
    expect(buckets.at(-1)?.high).toBe(1);
    expect(makeSliceHistogram([2, 2], 4)).toEqual([{ low: 2, high: 2, slices: 2 }]);
    expect(makeSliceHistogram([NaN], 4)).toEqual([]);
  });

  test('a score above the threshold is positive, one at the threshold is not', () => {
    const counts = (threshold: number) =>
      Object.values(computeConfusion(makeTestPlot(), threshold));
    // True positive, false positive, true negative, false negative.
    expect(counts(0.5)).toEqual([1, 1, 1, 1]);
    expect(counts(0.6)).toEqual([1, 0, 2, 1]);
    expect(counts(0.9)).toEqual([0, 0, 2, 2]);
    expect(counts(0.1)).toEqual([2, 2, 0, 0]);
  });

  test('the last step of a run is listed first', () => {
    const row = (run: string, step: number | null) => ({
      ...{ id: `${run}${step}`, run, tag: 't', step },
      ...{ wall_time: 0, kind: 'logged', version: '' },
    });
    const rows = [row('b', 1), row('a', 1), row('a', 2)];
    expect(sortEvaluations(rows).map(({ id }) => id)).toEqual(['a2', 'a1', 'b1']);
  });
});

describe('differences', () => {
  const values = Float64Array.of(0.01, NaN, 0.04, 0.03);
  const round = (list: Float64Array): string[] => Array.from(list, (one) => one.toFixed(4));

  // The same numbers as `adjust_p_values` of the Python package returns.
  test.each([
    ['holm', ['0.0300', 'NaN', '0.0600', '0.0600']],
    ['bonferroni', ['0.0300', 'NaN', '0.1200', '0.0900']],
    ['benjamini-hochberg', ['0.0300', 'NaN', '0.0400', '0.0400']],
    ['none', ['0.0100', 'NaN', '0.0400', '0.0300']],
  ] as const)('adjusts p-values with %s', (correction, expected) => {
    expect(round(adjustPValues(values, correction))).toEqual(expected);
  });

  test('gaps are ranked by significance, then by size; counts and the baseline are left out', () => {
    const difference = Float64Array.of(0, 0, -0.1, 50, 0.4, 60, 0.2, 70);
    const adjusted = Float64Array.of(NaN, NaN, 0.01, 0, 0.2, 0, 0.02, 0);
    const gaps = rankGaps(difference, adjusted, ['auc', 'example_count'], {
      isBaseline: (slice) => slice === 0,
      level: 0.05,
    });
    expect(gaps.map(({ slice, significant }) => [slice, significant])).toEqual([
      [3, true],
      [1, true],
      [2, false],
    ]);
  });

  const result = makeTestResult({ Overall: [0.5, 1], F: [0.25, 0] }, [
    makeColumn('auc'),
    makeColumn('accuracy', 0.5),
  ]);

  test('the correction counts the selected columns only', () => {
    const all = {
      ...makeTestDifferences(result, 0),
      p_value: Float64Array.of(NaN, NaN, 0.04, 0.04),
    };
    const request = { id: 'a', baseline: 'Overall', correction: 'bonferroni' } as const;
    const both = selectDifferences(all, result, request);
    expect([both.comparisons, both.adjusted_p_value[2], both.gaps[0]?.significant]).toEqual([
      2,
      0.08,
      false,
    ]);
    const one = selectDifferences(all, result, { ...request, columns: [1] });
    expect([one.comparisons, one.columns, [...one.difference]]).toEqual([1, [1], [0, -1]]);
    expect(one.gaps).toEqual([{ slice: 1, column: 0, difference: -1, significant: true }]);
  });
});

describe('metric info', () => {
  test('metrics have their names in Keras and TFMA as well', () => {
    expect(getMetricLabel('binary_accuracy')).toBe('Accuracy');
    expect(getMetricLabel('loss (unweighted)_diff')).toBe(
      'Average loss (unweighted) (change to baseline model)',
    );
    expect(getMetricLabel('my_metric')).toBe('my_metric');
    expect(findMetricInfo('binary_accuracy')).toBe(findMetricInfo('accuracy'));
    expect(parseMetricName('accuracy')).toEqual({
      base: 'accuracy',
      isChange: false,
      isUnweighted: false,
    });
  });

  test('counts are recognized', () => {
    const names = ['example_count', 'true_positives', 'example_count_diff', 'loss'];
    expect(names.map(isCountMetric)).toEqual([true, true, true, false]);
  });

  test('changes to the baseline model come last and are not shown by default', () => {
    const columns = ['loss_diff', 'loss', 'example_count', 'binary_accuracy'];
    const result = makeTestResult(
      {},
      columns.map((name) => makeColumn(name)),
    );
    expect(listMetrics(result)).toEqual(['binary_accuracy', 'loss', 'example_count', 'loss_diff']);
    expect(getDefaultMetrics(result)).toEqual(['binary_accuracy', 'loss']);
  });
});

describe('fairness export', () => {
  const result = makeTestResult({ Overall: [0.5], 'a|b': [0.25] }, [makeColumn('recall', 0.5)]);
  const differences = makeTestDifferences(result, 0);
  const rows = makeDifferenceRows(result, differences, [1]);

  test('a table has values, intervals and differences', () => {
    const [head, line] = toCsv(makeDifferenceTable(rows)).split('\n');
    expect(head?.split(',').slice(0, 5)).toEqual([
      'slice',
      'metric',
      'threshold',
      'output',
      'value',
    ]);
    expect(line?.split(',').slice(0, 8)).toEqual([
      ...['a|b', 'recall', '0.5', '', '0.25', '0.15', '0.35', '900'],
    ]);
    expect(line?.split(',').slice(8)).toEqual(['0.5', '-0.25', '', '', '-0.5', '', '', '']);
  });

  test('Markdown escapes the separator', () => {
    const text = toMarkdown(rows, () => 'Recall at 0.5');
    expect(text).toContain('| a\\|b | Recall at 0.5 | 0.25 (0.15 to 0.35) | −0.25 | 900 |');
  });

  test('numbers are formatted with a sign', () => {
    expect([0.123, -0.5, NaN].map(formatPercent)).toEqual(['+12 %', '−50 %', '–']);
    expect([0.0001, 0.04, NaN].map(formatPValue)).toEqual(['< 0.001', '0.04', '–']);
  });
});

describe('plot lines', () => {
  const style = { label: 'F', color: '#000' };
  const names = { negative: 'F, negative', positive: 'F, positive' };

  test('empty calibration buckets are left out', () => {
    const [line] = makePlotLines('calibration', makeTestPlot(), style, names);
    expect([[...(line?.x ?? [])], [...(line?.y ?? [])]]).toEqual([[0.3], [0.5]]);
  });

  test('distributions are shares of each label', () => {
    const plot = makeTestPlot({ negative: Float64Array.of(3, 1) });
    const lines = makePlotLines('distribution', plot, style, names);
    expect(lines.map(({ label }) => label)).toEqual(['F, negative', 'F, positive']);
    expect([...(lines[0]?.y ?? [])]).toEqual([0.75, 0.75, 0.25, 0.25]);
    expect([...makeSteps(Float64Array.of(0, 1), Float64Array.of(0)).y]).toEqual([0, 0]);
  });

  test('at most 20 bins are drawn, and none is lost', () => {
    const edges = Float64Array.from({ length: 51 }, (_, at) => at / 50);
    const [kept, weights] = mergeBins(edges, new Float64Array(50).fill(2));
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([18, 0, 1]);
    expect(weights.reduce((sum, one) => sum + one, 0)).toBe(100);
  });
});

describe('slice datapoints', () => {
  const NONE = { value: null, low: null, high: null, is_missing: false, is_closed: false };

  test('conditions have the form that What-If reads from the URL', () => {
    const conditions = [
      { ...NONE, column: 'sex', value: 'f' },
      { ...NONE, column: 'age', low: 20, high: 30 },
      { ...NONE, column: 'height', high: 170, is_closed: true },
      { ...NONE, column: 'city', is_missing: true },
    ].map(toUrlCondition);
    expect(conditions).toEqual([
      { column: 'sex', value: 'f' },
      { column: 'age', low: 20, high: 30 },
      { column: 'height', high: 170, isClosed: true },
      { column: 'city', value: null },
    ]);
    expect(isConditions(JSON.parse(JSON.stringify(conditions)))).toBe(true);
  });

  test('slices of booleans select rows', () => {
    const column = {
      name: 'old',
      numbers: Float64Array.of(1, 0, NaN, 1),
      codes: null,
      categories: [],
    };
    const condition = toUrlCondition({ ...NONE, column: 'old', value: 'True' });
    const mask = makeConditionMask([condition], new Map([['old', column]]), 4);
    expect([...(mask ?? [])]).toEqual([1, 0, 0, 1]);
  });
});

describe('static differences', () => {
  const REPLICATES = Float64Array.of(0.5, 0.2, 0.55, 0.3, 0.45, 0.28);
  const paired = makeTestResult({ Overall: [0.5], F: [0.25] }, [makeColumn('auc')], {
    samples: 3,
    replicates: REPLICATES,
  });

  function compare(result: typeof paired, slice: number) {
    const { difference, lower, upper, relative_lower, relative_upper, p_value } =
      computeDifferences(result, {
        slice,
        getValue: (_, column) => getCell(result, slice, column),
      });
    const other = 1 - slice;
    return [difference, lower, upper, relative_lower, relative_upper, p_value].map(
      (values) => values[other] ?? NaN,
    );
  }

  function expectClose(values: readonly number[], expected: readonly number[]): void {
    expect(values.length).toBe(expected.length);
    values.forEach((value, at) => {
      expect(value).toBeCloseTo(expected[at] ?? NaN, 9);
    });
  }

  // The expected numbers are those of the server.
  test('jackknife replicates give the interval of the difference', () => {
    expectClose(compare(paired, 0), [
      ...[-0.25, -0.575791606614, 0.075791606614, -1.060751623706, 0.060751623706],
      0.08077466633,
    ]);
    expectClose(compare(paired, 1), [
      ...[0.25, -0.075791606614, 0.575791606614, -1.306193725832, 3.306193725832],
      0.08077466633,
    ]);
  });

  test('bootstrap replicates have another standard error', () => {
    expectClose(compare({ ...paired, method: 'bootstrap' }, 1), [
      ...[0.25, -0.032143807668, 0.532143807668, -0.997222352619, 2.997222352619],
      0.062426749228,
    ]);
  });

  test('without replicates, intervals are combined', () => {
    const expected = [0.25, 0.108578643763, 0.391421356237, 0.434314575051, 1.565685424949];
    expectClose(compare({ ...paired, replicates: null }, 1), [...expected, 0.016849677787]);
    const negative = {
      ...paired,
      replicates: null,
      value: paired.value.map((value) => -value),
      lower: paired.upper.map((value) => -value),
      upper: paired.lower.map((value) => -value),
    };
    expectClose(compare(negative, 1).slice(3, 5), [0.434314575051, 1.565685424949]);
  });

  test('a slice has no interval of the difference to itself, and none to an undefined value', () => {
    const own = computeDifferences(paired, {
      slice: 0,
      getValue: (_, at) => getCell(paired, 0, at),
    });
    expect([own.lower[0], own.upper[0], own.p_value[0]]).toEqual([0, 0, NaN]);
    const unknown = { value: NaN, lower: NaN, upper: NaN };
    const none = computeDifferences(paired, { slice: -1, getValue: () => unknown });
    expect([...none.difference, ...none.lower, ...none.p_value].every(Number.isNaN)).toBe(true);
  });

  test('a value without variation has no interval of the difference', () => {
    const constant = makeTestResult({ Overall: [0.5], F: [1] }, [makeColumn('auc')], {
      samples: 3,
      lower: Float64Array.of(0.4, 1),
      upper: Float64Array.of(0.6, 1),
      replicates: Float64Array.of(0.5, 1, 0.55, 1, 0.45, 1),
    });
    expect(compare(constant, 0)).toEqual([0.5, NaN, NaN, NaN, NaN, NaN]);
  });

  test('a baseline of 0 has no relative difference', () => {
    const zero = makeTestResult({ Overall: [0], F: [0.25] }, [makeColumn('auc')]);
    expect(compare(zero, 0).slice(3, 5)).toEqual([NaN, NaN]);
  });

  test("quantiles and p-values of Student's t", () => {
    expect(getHalfWidth(0.95, 19)).toBeCloseTo(2.0930240544083083, 10);
    expect(getHalfWidth(0.9, 2)).toBeCloseTo(2.919985580353726, 10);
    expect(getTwoSidedPValue(0.5, 19)).toBeCloseTo(0.6228164912864429, 12);
    expect(getTwoSidedPValue(2.5, 19)).toBeCloseTo(0.02174041116839737, 12);
    expect(getTwoSidedPValue(12, 19) / 2.5908946372221826e-10).toBeCloseTo(1, 8);
    expect(getTwoSidedPValue(NaN, 19)).toBeNaN();
  });
});

describe('static fairness', () => {
  const columns = [makeColumn('auc')];
  const first = makeTestResult({ Overall: [0.5], F: [0.25] }, columns);
  const second = makeTestResult({ F: [0.75] }, columns, { id: 'b' });
  const row = { run: 'r', tag: 't', wall_time: 0, kind: 'logged', version: '' };

  function makeContents(): ExportContents {
    const stored: Record<string, unknown> = {
      'result?id=a': first,
      'result?id=b': second,
      'difference?id=a': {
        ...makeTestDifferences(first, 0),
        p_value: Float64Array.of(NaN, 0.01),
        lower: Float64Array.of(0, -0.3),
      },
      'plots?id=a': {
        plots: [makeTestPlot({ slice: 1 })],
        confusion: [],
        missing: [],
        exact: true,
      },
      evaluations: {
        cursor: '',
        evaluations: [
          { ...row, id: 'a', step: 1 },
          { ...row, id: 'b', step: 2 },
        ],
      },
    };
    const strip = (path: string): string => path.replace('api/v1/fairness/', '');
    const contents = {
      head: { responses: {} },
      has: (path: string) => strip(path) in stored,
      read: (path: string) => Promise.resolve(stored[strip(path)]),
    };
    return contents as unknown as ExportContents;
  }

  test('differences are exported or computed, with intervals', async () => {
    const handle = fairnessHandlers['POST fairness/difference'];
    const exported = await handle?.({ id: 'a', baseline: 'Overall' }, makeContents());
    expect(exported?.gaps).toEqual([{ slice: 1, column: 0, difference: -0.25, significant: true }]);
    expect(exported?.lower[1]).toBe(-0.3);
    const other = await handle?.({ id: 'a', baseline: 'F' }, makeContents());
    expect([...(other?.difference ?? [])]).toEqual([0.25, 0]);
    expect(other?.lower[0]).toBeCloseTo(0.25 - Math.hypot(0.1, 0.1));
    expect(other?.comparisons).toBe(1);
    const compared = await handle?.({ id: 'a', other: 'b' }, makeContents());
    expect([...(compared?.difference ?? [])]).toEqual([NaN, -0.5]);
    expect(compared?.upper[1]).toBeCloseTo(-0.5 + Math.hypot(0.1, 0.1));
  });

  test('plots of slices that were not exported are missing', async () => {
    const handle = fairnessHandlers['POST fairness/plots'];
    const response = await handle?.({ id: 'a', slices: [0, 1] }, makeContents());
    expect([response?.plots.length, response?.missing]).toEqual([1, [0]]);
    const none = await handle?.({ id: 'b', slices: [0] }, makeContents());
    expect(none?.missing).toEqual([0]);
  });

  test('the history is read from all results', async () => {
    const request = { run: 'r', tag: 't', metric: 'auc', slices: ['F', 'Overall'] };
    const history = await fairnessHandlers['POST fairness/history']?.(request, makeContents());
    expect([...(history?.steps ?? [])]).toEqual([1, 2]);
    expect(history?.series.map(({ value }) => [...value])).toEqual([
      [0.25, 0.75],
      [0.5, NaN],
    ]);
  });
});
