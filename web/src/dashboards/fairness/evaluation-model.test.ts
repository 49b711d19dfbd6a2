import { expect, test } from 'vitest';

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
import { makeColumn, makeTestPlot, makeTestResult } from './fairness-fixtures';

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
  const counts = (threshold: number) => Object.values(computeConfusion(makeTestPlot(), threshold));
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
