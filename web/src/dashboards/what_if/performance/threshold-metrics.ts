/** Metrics of binary models at any threshold, from counts at 101 thresholds. No server is asked. */
import type { Measure, PerformanceResponse } from '../../../api/schemas';
import type { EvaluationCurves } from '../../../charts/evaluation/plot-lines';

export interface Confusion {
  readonly truePositive: number;
  readonly falsePositive: number;
  readonly trueNegative: number;
  readonly falseNegative: number;
}

export interface ThresholdMetrics extends Confusion {
  readonly count: number;
  readonly accuracy: number;
  readonly precision: number;
  readonly recall: number;
  readonly falsePositiveRate: number;
  readonly falseNegativeRate: number;
  readonly trueNegativeRate: number;
  readonly positiveRate: number;
  readonly negativeRate: number;
  readonly falseDiscoveryRate: number;
  readonly falseOmissionRate: number;
  readonly f1: number;
  /** Shares of all datapoints of the slice. */
  readonly falsePositiveShare: number;
  readonly falseNegativeShare: number;
}

type Counts = Pick<PerformanceResponse, 'thresholds' | 'tp' | 'fp' | 'tn' | 'fn'>;

/** Return the position of a threshold. Rounded: 100 * 0.29 is slightly less than 29. */
export function getThresholdIndex(threshold: number, size: number): number {
  return Math.max(0, Math.min(size - 1, Math.round(threshold * (size - 1))));
}

export function getConfusion(counts: Counts, slice: number, threshold: number): Confusion {
  const size = counts.thresholds.length;
  const at = slice * size + getThresholdIndex(threshold, size);
  return {
    truePositive: counts.tp[at] ?? 0,
    falsePositive: counts.fp[at] ?? 0,
    trueNegative: counts.tn[at] ?? 0,
    falseNegative: counts.fn[at] ?? 0,
  };
}

/** Return the metrics of a slice; NaN where the denominator is 0. */
export function computeMetrics(counts: Counts, slice: number, threshold: number): ThresholdMetrics {
  return summarize(getConfusion(counts, slice, threshold));
}

type RateFormula = (tp: number, fp: number, tn: number, fn: number) => number;
export type Rate = Exclude<keyof ThresholdMetrics, keyof Confusion | 'count'>;

/** The rates of confusion counts. */
export const RATES: Readonly<Record<Rate, RateFormula>> = {
  accuracy: (tp, fp, tn, fn) => (tp + tn) / (tp + fp + tn + fn),
  precision: (tp, fp) => tp / (tp + fp),
  recall: (tp, _fp, _tn, fn) => tp / (tp + fn),
  falsePositiveRate: (_tp, fp, tn) => fp / (fp + tn),
  falseNegativeRate: (tp, _fp, _tn, fn) => fn / (tp + fn),
  trueNegativeRate: (_tp, fp, tn) => tn / (fp + tn),
  positiveRate: (tp, fp, tn, fn) => (tp + fp) / (tp + fp + tn + fn),
  negativeRate: (tp, fp, tn, fn) => (tn + fn) / (tp + fp + tn + fn),
  falseDiscoveryRate: (tp, fp) => fp / (tp + fp),
  falseOmissionRate: (_tp, _fp, tn, fn) => fn / (tn + fn),
  f1: (tp, fp, _tn, fn) => (2 * tp) / (2 * tp + fp + fn),
  falsePositiveShare: (tp, fp, tn, fn) => fp / (tp + fp + tn + fn),
  falseNegativeShare: (tp, fp, tn, fn) => fn / (tp + fp + tn + fn),
};

export function summarize(confusion: Confusion): ThresholdMetrics {
  const { truePositive: tp, falsePositive: fp, trueNegative: tn, falseNegative: fn } = confusion;
  const get = (rate: Rate): number => RATES[rate](tp, fp, tn, fn);
  return {
    ...confusion,
    count: tp + fp + tn + fn,
    accuracy: get('accuracy'),
    precision: get('precision'),
    recall: get('recall'),
    falsePositiveRate: get('falsePositiveRate'),
    falseNegativeRate: get('falseNegativeRate'),
    trueNegativeRate: get('trueNegativeRate'),
    positiveRate: get('positiveRate'),
    negativeRate: get('negativeRate'),
    falseDiscoveryRate: get('falseDiscoveryRate'),
    falseOmissionRate: get('falseOmissionRate'),
    f1: get('f1'),
    falsePositiveShare: get('falsePositiveShare'),
    falseNegativeShare: get('falseNegativeShare'),
  };
}

/** Return the cost of errors: false positives cost `ratio` times as much as false negatives. */
export function computeCost({ falsePositive, falseNegative }: Confusion, ratio: number): number {
  return ratio * falsePositive + falseNegative;
}

export const MEASURED_RATES = {
  positive_rate: 'positiveRate',
  true_positive_rate: 'recall',
  false_positive_rate: 'falsePositiveRate',
  accuracy: 'accuracy',
  precision: 'precision',
} as const satisfies Record<Measure, Rate>;

/** Return the largest difference of a rate between slices; those without it are left out. */
export function computeGap(slices: readonly ThresholdMetrics[], measure: Measure): number {
  const rates = slices.map((slice) => slice[MEASURED_RATES[measure]]).filter(Number.isFinite);
  return rates.length > 0 ? Math.max(...rates) - Math.min(...rates) : NaN;
}

/** Return the slices with the lowest and the highest rate. */
export function findExtremes<Slice extends ThresholdMetrics>(
  slices: readonly Slice[],
  measure: Measure,
): { readonly lowest: SliceRate<Slice>; readonly highest: SliceRate<Slice> } | null {
  const rates = slices
    .map((slice) => ({ slice, rate: slice[MEASURED_RATES[measure]] }))
    .filter(({ rate }) => Number.isFinite(rate));
  const [first] = rates;
  if (!first) return null;
  return {
    lowest: rates.reduce((best, one) => (one.rate < best.rate ? one : best), first),
    highest: rates.reduce((best, one) => (one.rate > best.rate ? one : best), first),
  };
}

interface SliceRate<Slice> {
  readonly slice: Slice;
  readonly rate: number;
}

/** Return the sum of the slices, each at its own threshold. */
export function addConfusions(parts: readonly Confusion[]): Confusion {
  const sum = (key: keyof Confusion): number => parts.reduce((total, one) => total + one[key], 0);
  return {
    truePositive: sum('truePositive'),
    falsePositive: sum('falsePositive'),
    trueNegative: sum('trueNegative'),
    falseNegative: sum('falseNegative'),
  };
}

/** Return the counts of one class against all others, of a model with several classes. */
export function getClassCounts(
  { class_names: names, class_tp: allTp, class_fp: allFp }: PerformanceResponse,
  slice: number,
  classAt: number,
): Counts | null {
  if (!allTp || !allFp || allTp.length === 0) return null;
  const start = (slice * names.length + classAt) * CLASS_THRESHOLDS.length;
  const part = (values: Float64Array) => values.slice(start, start + CLASS_THRESHOLDS.length);
  const [tp, fp] = [part(allTp), part(allFp)];
  // All scores are at least 0.
  const subtract = (values: Float64Array) => values.map((value) => (values[0] ?? 0) - value);
  return { thresholds: CLASS_THRESHOLDS, tp, fp, tn: subtract(fp), fn: subtract(tp) };
}

const CLASS_THRESHOLDS = Float64Array.from({ length: 101 }, (_, at) => at / 100);

/** ROC and precision-recall curves with the areas below them. */
export interface ThresholdCurves {
  readonly false_positive_rate: Float64Array;
  readonly true_positive_rate: Float64Array;
  readonly recall: Float64Array;
  readonly precision: Float64Array;
  readonly rocAuc: number;
  readonly averagePrecision: number;
}

export function makeThresholdCurves(counts: Counts, slice: number): ThresholdCurves {
  // From the highest threshold to the lowest; a point above all scores begins the ROC curve.
  const metrics = Array.from(counts.thresholds)
    .reverse()
    .map((threshold) => computeMetrics(counts, slice, threshold));
  const x = Float64Array.from([0, ...metrics.map((one) => one.falsePositiveRate)]);
  const y = Float64Array.from([0, ...metrics.map((one) => one.recall)]);
  const known = metrics.filter(({ precision }) => !Number.isNaN(precision));
  return {
    false_positive_rate: x,
    true_positive_rate: y,
    recall: Float64Array.from(known, ({ recall }) => recall),
    precision: Float64Array.from(known, ({ precision }) => precision),
    rocAuc: integrate(x, y),
    averagePrecision: computeAveragePrecision(known),
  };
}

/** Return the curves of a slice, in the form that the plots of evaluations draw. */
export function makeCurves(
  response: PerformanceResponse,
  slice: number,
): EvaluationCurves & ThresholdCurves {
  const buckets = response.slices.length
    ? response.calibration_count.length / response.slices.length
    : 0;
  const part = (values: Float64Array) => values.slice(slice * buckets, (slice + 1) * buckets);
  const distribution = countScores(response, slice);
  return {
    slice,
    output: '',
    ...makeThresholdCurves(response, slice),
    mean_score: part(response.calibration_score),
    positive_share: part(response.calibration_share),
    calibration_weight: part(response.calibration_count),
    distribution_edges: response.thresholds,
    ...distribution,
  };
}

/** Return the number of scores between neighboring thresholds, by label. */
function countScores(
  { thresholds, tp, fp }: PerformanceResponse,
  slice: number,
): { negative: Float64Array; positive: Float64Array } {
  const size = thresholds.length;
  const differences = (values: Float64Array): Float64Array =>
    Float64Array.from({ length: Math.max(0, size - 1) }, (_, at) => {
      const place = slice * size + at;
      const last = at === size - 2 ? 0 : (values[place + 1] ?? 0);
      return (values[place] ?? 0) - last;
    });
  return { negative: differences(fp), positive: differences(tp) };
}

function integrate(x: Float64Array, y: Float64Array): number {
  let area = 0;
  for (let at = 1; at < x.length; at++) {
    const width = (x[at] ?? NaN) - (x[at - 1] ?? NaN);
    area += (width * ((y[at] ?? NaN) + (y[at - 1] ?? NaN))) / 2;
  }
  return area;
}

/** Precision weighted by the increase of recall; thresholds without positives have no precision. */
function computeAveragePrecision(metrics: readonly ThresholdMetrics[]): number {
  let previous = 0;
  let total = 0;
  for (const { recall, precision } of metrics) {
    total += (recall - previous) * precision;
    previous = recall;
  }
  return metrics.length > 0 ? total : NaN;
}
