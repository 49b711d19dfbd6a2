import { expect, test } from 'vitest';

import { computeStats } from '../../../lib/statistics';
import { computeIntervals, type Rate } from './threshold-intervals';
import { type Confusion, summarize, type ThresholdMetrics } from './threshold-metrics';

const RATES: readonly Rate[] = [
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

/** Return the rates of samples that repeat each row Poisson(1) times. */
function simulate(counts: readonly number[], samples: number): ThresholdMetrics[] {
  let state = 12345;
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
    for (const rate of RATES) {
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
  expect(recall).toEqual({ low: 0, high: 0 });
  expect(accuracy.low).toBeLessThan(accuracy.high);
});
