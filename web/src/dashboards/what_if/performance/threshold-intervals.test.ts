import { expect, test } from 'vitest';

import { computeStats } from '../../../lib/arrays';
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
  type Confusion,
  type Rate,
  RATES,
  summarize,
  type ThresholdMetrics,
} from './threshold-metrics';

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
