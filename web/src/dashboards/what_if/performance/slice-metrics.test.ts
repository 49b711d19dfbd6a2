import { expect, test } from 'vitest';

import type { PerformanceResponse } from '../../../api/schemas';
import { toCsv } from '../../../cards/export';
import { sortRows } from '../../../components/data-table';
import {
  describeInterval,
  formatArea,
  formatWithInterval,
  listSliceMetrics,
  makeMetricsExport,
  makeModelsExport,
  makeSliceColumn,
} from './slice-metrics';

test('a value has its interval, or the reason why there is none', () => {
  const none = { low: NaN, high: NaN };
  expect(formatWithInterval(0.5, { low: 0.25, high: 0.75 })).toBe('0.5 (0.25, 0.75)');
  expect(describeInterval(0.5, { low: 0.25, high: 0.75 })).toContain('from 0.25 to 0.75');
  expect(formatWithInterval(1, { low: 1, high: 1 })).toBe('1 (no interval)');
  expect(describeInterval(1, { low: 1, high: 1 })).toContain('the same value');
  expect(formatWithInterval(0.5, none)).toBe('0.5 (no interval)');
  expect(describeInterval(0.5, none)).toContain('undefined in most');
  expect(formatWithInterval(NaN, none)).toBe('—');
  expect(describeInterval(NaN, none)).toContain('Undefined');
});

const SIZE = 101;

/** Two slices of 8 and 4 rows; thresholds up to 0.5 have more positives than the others. */
function makeResponse(): PerformanceResponse {
  const makeCounts = (low: readonly number[], high: readonly number[]): Float64Array =>
    Float64Array.from({ length: 2 * SIZE }, (_, at) => {
      const slice = Math.floor(at / SIZE);
      return (at % SIZE <= 50 ? low : high)[slice] ?? 0;
    });
  const makeMetric = (metric: string, threshold: number | null) => ({
    ...{ metric, threshold, class_name: null },
    value: Float64Array.of(0.5, NaN),
    lower: Float64Array.of(0.25, NaN),
    upper: Float64Array.of(0.75, NaN),
  });
  return {
    slices: ['Overall', 'sex:f'],
    counts: [8, 4],
    thresholds: Float64Array.from({ length: SIZE }, (_, at) => at / 100),
    tp: makeCounts([4, 2], [2, 0]),
    fp: makeCounts([2, 1], [0, 0]),
    tn: makeCounts([2, 1], [4, 2]),
    fn: makeCounts([0, 0], [2, 2]),
    metrics: [
      makeMetric('recall', 0.5),
      makeMetric('auc', null),
      makeMetric('example_count', null),
    ],
    task: 'classification',
    attributions: { age: Float64Array.of(0.5, NaN) },
    attribution_lower: { age: Float64Array.of(0.25, NaN) },
    attribution_upper: { age: Float64Array.of(0.75, NaN) },
  } as unknown as PerformanceResponse;
}

test('metrics at a threshold follow the threshold of the slice', () => {
  const [recall, f1, auc, ...others] = listSliceMetrics(makeResponse(), (slice) =>
    slice === 'Overall' ? 0.2 : 0.7,
  );
  expect([recall?.key, f1?.key, auc?.key]).toEqual(['recall', 'f1', 'auc']);
  expect([recall?.getValue(0), recall?.getValue(1)]).toEqual([1, 0]);
  expect(f1?.getValue(0)).toBeCloseTo(0.8);
  expect(f1?.getInterval(0).low).toBeLessThan(0.8);
  expect(auc?.getInterval(0)).toEqual({ low: 0.25, high: 0.75 });
  expect(others).toEqual([]);
});

test('slices are exported with thresholds and intervals', () => {
  const table = makeMetricsExport(makeResponse(), [0, 1], (slice) => (slice === 'Overall' ? 0 : 1));
  const [header, overall, women] = toCsv(table).split('\n');
  expect(header).toBe(
    'slice,count,threshold,recall,recall_lower,recall_upper,f1,f1_lower,f1_upper,' +
      'auc,auc_lower,auc_upper,attribution:age,attribution:age_lower,attribution:age_upper',
  );
  expect(overall).toMatch(
    /^Overall,8,0,1,0\.397\d+,1,0\.8,[\d.]+,[\d.]+,0\.5,0\.25,0\.75,0\.5,0\.25,0\.75$/,
  );
  expect(women).toMatch(/^sex:f,4,1,0,0,0\.84\d+,0,0,0\.91\d+,,,,,,$/);
});

test('slices are sorted as the server orders them, by the bounds of bins', () => {
  const names = ['Overall', '[-10, -5)', '[-5, 0)', '>= 0'];
  const rows = [2, 3, 0, 1].map((at) => ({ at }));
  const sort = (descending: boolean) =>
    sortRows(rows, [makeSliceColumn(160)], { key: 'slice', descending }).map(({ at }) => names[at]);
  expect(sort(false)).toEqual(names);
  expect(sort(true)).toEqual(names.toReversed());
});

test('models without thresholds have the metrics of the server', () => {
  const response = { ...makeResponse(), thresholds: new Float64Array() };
  const table = makeMetricsExport(response, [0], null);
  expect(toCsv(table)).toBe(
    'slice,count,threshold,recall@0.5,recall@0.5_lower,recall@0.5_upper,auc,auc_lower,auc_upper,' +
      'attribution:age,attribution:age_lower,attribution:age_upper\n' +
      'Overall,8,,0.5,0.25,0.75,0.5,0.25,0.75,0.5,0.25,0.75\n',
  );
});

test('areas have the interval of the server', () => {
  const response = makeResponse();
  expect(formatArea(response, 0, 'roc', 'steep', 0.6)).toBe(
    'steep (0.5, 95% interval 0.25 to 0.75)',
  );
  expect(formatArea(response, 0, 'pr', 'steep', 0.6)).toBe('steep (0.6)');
});

test('several models are exported below each other, with the metrics that any of them has', () => {
  const one = { name: 'a', data: makeResponse(), slices: [0, 1], getThreshold: () => 0.5 };
  const plain = { ...makeResponse(), attributions: {} };
  const other = { ...one, name: 'b', data: plain, slices: [0] };
  expect(makeModelsExport([one])).toEqual(makeMetricsExport(one.data, [0, 1], () => 0.5));
  const { columns, rows } = makeModelsExport([one, other]);
  expect(columns.slice(0, 4)).toEqual(['model', 'slice', 'count', 'threshold']);
  expect(rows.map((row) => row.slice(0, 3))).toEqual([
    ['a', 'Overall', 8],
    ['a', 'sex:f', 4],
    ['b', 'Overall', 8],
  ]);
  const at = columns.indexOf('attribution:age');
  expect(rows.map((row) => row[at])).toEqual([0.5, null, null]);
});
