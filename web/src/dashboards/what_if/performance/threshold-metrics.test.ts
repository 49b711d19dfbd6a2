import { expect, test } from 'vitest';

import type { PerformanceResponse } from '../../../api/schemas';
import {
  addConfusions,
  computeCost,
  computeGap,
  computeMetrics,
  getClassCounts,
  getThresholdIndex,
  makeCurves,
  makeThresholdCurves,
} from './threshold-metrics';

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
