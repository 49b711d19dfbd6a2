import { describe, expect, test } from 'vitest';

import type { PerformanceResponse } from '../../../api/schemas';
import { toCsv } from '../../../cards/export';
import { sortRows } from '../../../components/data-table';
import { computeStats } from '../../../lib/arrays';
import {
  describeInterval,
  formatArea,
  formatWithInterval,
  listSliceMetrics,
  makeMetricsExport,
  makeModelsExport,
  makeSliceColumn,
} from './slice-metrics';
import {
  computeCostInterval,
  computeGapInterval,
  computeInterval,
  type Interval,
} from './threshold-intervals';
import {
  addConfusions,
  computeCost,
  computeGap,
  computeMetrics,
  type Confusion,
  getClassCounts,
  getThresholdIndex,
  makeCurves,
  makeThresholdCurves,
  type Rate,
  RATES,
  summarize,
  type ThresholdMetrics,
} from './threshold-metrics';

describe('slice metrics', () => {
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
    const table = makeMetricsExport(makeResponse(), [0, 1], (slice) =>
      slice === 'Overall' ? 0 : 1,
    );
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
      sortRows(rows, [makeSliceColumn(160)], { key: 'slice', descending }).map(
        ({ at }) => names[at],
      );
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
});

describe('threshold metrics', () => {
  /** Counts of scores 0.2, 0.6 (negative) and 0.4, 0.8 (positive). */
  function makeResponse(): PerformanceResponse {
    const thresholds = Float64Array.from({ length: 101 }, (_, at) => at / 100);
    const atLeast = (scores: number[]): Float64Array =>
      Float64Array.from(thresholds, (t) => scores.filter((score) => score >= t).length);
    const tp = atLeast([0.4, 0.8]);
    const fp = atLeast([0.2, 0.6]);
    return {
      thresholds,
      tp,
      fp,
      tn: fp.map((value) => 2 - value),
      fn: tp.map((value) => 2 - value),
      slices: ['Overall'],
      calibration_count: Float64Array.of(1, 0),
      calibration_score: Float64Array.of(0.2, NaN),
      calibration_share: Float64Array.of(0, NaN),
    } as unknown as PerformanceResponse;
  }

  test('a threshold has exactly one position', () => {
    expect([0.29, 0.57, 0.58, 1].map((t) => getThresholdIndex(t, 101))).toEqual([29, 57, 58, 100]);
  });

  test('a score that equals the threshold is positive', () => {
    const metrics = computeMetrics(makeResponse(), 0, 0.4);
    expect([metrics.truePositive, metrics.falsePositive]).toEqual([2, 1]);
    expect(metrics.accuracy).toBe(0.75);
    expect(metrics.f1).toBe(0.8);
  });

  test('metrics without a denominator are undefined', () => {
    expect(computeMetrics(makeResponse(), 0, 0.9).precision).toBeNaN();
  });

  test('curves have the areas of the definition', () => {
    const curves = makeCurves(makeResponse(), 0);
    expect(curves.rocAuc).toBeCloseTo(0.75);
    // (1 / 2) * 1 + (1 / 2) * (2 / 3)
    expect(curves.averagePrecision).toBeCloseTo(5 / 6);
    expect(curves.positive.reduce((sum, value) => sum + value, 0)).toBe(2);
  });

  test('costs add up over slices', () => {
    const one = computeMetrics(makeResponse(), 0, 0.4);
    const total = addConfusions([one, one]);
    expect(total.truePositive).toBe(4);
    expect(computeCost(total, 3)).toBe(6);
  });

  test('each class is compared with all others', () => {
    const { tp, fp } = makeResponse();
    const zeros = new Float64Array(101);
    const response = {
      class_names: ['a', 'b', 'c'],
      class_tp: Float64Array.from([...zeros, ...tp, ...zeros]),
      class_fp: Float64Array.from([...zeros, ...fp, ...zeros]),
    } as unknown as PerformanceResponse;
    const counts = getClassCounts(response, 0, 1);
    if (!counts) throw new Error('no counts');
    expect(computeMetrics(counts, 0, 0.4).accuracy).toBe(0.75);
    expect(makeThresholdCurves(counts, 0).rocAuc).toBeCloseTo(0.75);
    expect(getClassCounts({ ...response, class_tp: null }, 0, 1)).toBeNull();
  });

  test('the gap is the largest difference between slices that have the rate', () => {
    const response = makeResponse();
    // Nothing is positive at a threshold of 1, so there is no precision.
    const slices = [0, 0.5, 1].map((threshold) => computeMetrics(response, 0, threshold));
    expect(computeGap(slices, 'positive_rate')).toBe(1);
    expect(computeGap(slices, 'precision')).toBe(0);
    expect(computeGap([], 'accuracy')).toBeNaN();
  });
});

describe('threshold intervals', () => {
  const TESTED: readonly Rate[] = [
    'accuracy',
    'precision',
    'recall',
    'falsePositiveRate',
    'positiveRate',
    'falseOmissionRate',
    'f1',
    'falsePositiveShare',
  ];

  function makeCounts(counts: readonly number[]): Confusion {
    const [truePositive = 0, falsePositive = 0, trueNegative = 0, falseNegative = 0] = counts;
    return { truePositive, falsePositive, trueNegative, falseNegative };
  }

  const computeIntervals = (confusion: Confusion): Record<Rate, Interval> =>
    Object.fromEntries(
      (Object.keys(RATES) as Rate[]).map((rate) => [rate, computeInterval(confusion, rate)]),
    ) as Record<Rate, Interval>;

  /** Return the rates of samples that repeat each row Poisson(1) times. */
  function simulate(counts: readonly number[], samples: number, seed = 12345): ThresholdMetrics[] {
    let state = seed;
    const random = (): number => (state = (state * 16807) % 2147483647) / 2147483647;
    const repeat = (): number => {
      let [count, product] = [0, random()];
      while (product > Math.exp(-1)) {
        product *= random();
        count++;
      }
      return count;
    };
    return Array.from({ length: samples }, () => {
      const sample = counts.map((count) => {
        let sum = 0;
        for (let row = 0; row < count; row++) sum += repeat();
        return sum;
      });
      return summarize(makeCounts(sample));
    });
  }

  test.each([[[19, 12, 25, 14]], [[140, 40, 160, 50]]])(
    'intervals of %j are those of a bootstrap of the rows',
    (counts) => {
      const intervals = computeIntervals(makeCounts(counts));
      const values = summarize(makeCounts(counts));
      const samples = simulate(counts, 1500);
      for (const rate of TESTED) {
        const { low, high } = intervals[rate];
        expect((low + high) / 2).toBeCloseTo(values[rate]);
        const { std = NaN } = computeStats(samples.map((sample) => sample[rate])) ?? {};
        const expected = 2 * 1.96 * std;
        // 200 samples estimate a standard error to about a twentieth.
        expect((high - low) / expected).toBeGreaterThan(0.8);
        expect((high - low) / expected).toBeLessThan(1.25);
      }
    },
  );

  test('intervals are the same whenever they are computed, and stay between 0 and 1', () => {
    const counts = makeCounts([3, 1, 2, 0]);
    const intervals = computeIntervals(counts);
    expect(computeIntervals({ ...counts })).toEqual(intervals);
    for (const { low, high } of Object.values(intervals)) {
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
    }
  });

  test('rates without rows have no interval', () => {
    const { precision, recall, accuracy } = computeIntervals(makeCounts([0, 0, 50, 10]));
    expect(precision).toEqual({ low: NaN, high: NaN });
    // 0 of 10, as Clopper and Pearson.
    expect(recall.low).toBe(0);
    expect(recall.high).toBeCloseTo(0.3085, 4);
    expect(accuracy.low).toBeLessThan(accuracy.high);
  });

  test('rates of 0 and 1 have the exact bounds of a proportion', () => {
    const { accuracy, f1, falsePositiveShare } = computeIntervals(makeCounts([4, 0, 0, 0]));
    expect(accuracy.low).toBeCloseTo(0.3976, 4);
    expect(accuracy.high).toBe(1);
    expect(f1.low).toBeCloseTo((2 * 0.3976) / 1.3976, 3);
    expect(falsePositiveShare).toEqual({ low: 0, high: expect.closeTo(0.6024, 4) as number });
  });

  test('intervals of costs and gaps are those of a bootstrap of the rows', () => {
    const slices = [
      [60, 25, 80, 35],
      [40, 10, 120, 22],
      [15, 9, 30, 6],
    ];
    const counts = slices.map(makeCounts);
    const samples = slices.map((slice, at) => simulate(slice, 1500, 1000 * (at + 1)));
    const rows =
      samples[0]?.map((_, number) => samples.flatMap((slice) => slice[number] ?? [])) ?? [];
    const check = (low: number, high: number, values: readonly number[]): void => {
      const { std = NaN } = computeStats(values) ?? {};
      expect((high - low) / (2 * 1.96 * std)).toBeGreaterThan(0.8);
      expect((high - low) / (2 * 1.96 * std)).toBeLessThan(1.25);
    };
    const cost = computeCostInterval(counts, 2);
    expect((cost.low + cost.high) / 2).toBeCloseTo(computeCost(addConfusions(counts), 2));
    const costs = rows.map((row) => computeCost(addConfusions(row), 2));
    check(cost.low, cost.high, costs);
    const gap = computeGapInterval(counts, ['true_positive_rate']);
    const value = computeGap(counts.map(summarize), 'true_positive_rate');
    expect(gap.low).toBeLessThan(value);
    const gaps = rows.map((row) => computeGap(row, 'true_positive_rate'));
    check(2 * value - gap.high, gap.high, gaps);
    expect(computeCostInterval([makeCounts([5, 0, 5, 0])], 2)).toEqual({
      low: 0,
      high: expect.closeTo(7.378, 3) as number,
    });
  });
});
