/**
 * 95 % intervals of metrics at any threshold, without the server, by the Poisson bootstrap.
 *
 * A sample repeats each row Poisson(1) times. The four confusion counts of a sample are therefore
 * independent Poisson numbers whose means are the counts of the data, and need no rows. Samples of
 * different slices are independent as well, because slices have no rows in common.
 */
import type { Measure } from '../../../api/schemas';
import {
  addConfusions,
  computeCost,
  computeGap,
  type Confusion,
  MEASURED_RATES,
  type Rate,
  RATES,
  summarize,
  type ThresholdMetrics,
} from './threshold-metrics';

export interface Interval {
  readonly low: number;
  readonly high: number;
}

const SAMPLES = 200;
/** Quantile of Student's t distribution with one degree of freedom less than samples. */
const STUDENT_T = 1.972;
/** Larger means are drawn from the normal distribution. */
const MAX_EXACT_MEAN = 30;
const MAX_CACHED = 1000;
const SEED = 1;
/** Probability beyond each end of an interval. */
const TAIL = 0.025;
const NO_INTERVAL: Interval = { low: NaN, high: NaN };

interface Draws {
  readonly uniform: Float64Array;
  readonly normal: Float64Array;
}

/**
 * The same for all counts, so that intervals do not flicker while a threshold is dragged; by number
 * of the slice.
 */
const draws: Draws[] = [];

/** Confusion counts that intervals were asked for. */
interface Sampled {
  readonly values: ThresholdMetrics;
  readonly samples: Float64Array;
  readonly intervals: Partial<Record<Rate, Interval>>;
}

const cache = new Map<string, Sampled>();

/**
 * Return the interval of a rate; NaN if it is undefined in the data. A rate that is 0 or 1 in all
 * samples has no known variation; its bounds are the exact ones of a binomial proportion.
 */
export function computeInterval(confusion: Confusion, rate: Rate): Interval {
  const { values, samples, intervals } = getSampled(confusion);
  const value = values[rate];
  return (intervals[rate] ??=
    value === 0 || value === 1
      ? getExactInterval(values, rate)
      : makeInterval(value, computeRates(samples, rate), 1));
}

function getSampled(confusion: Confusion): Sampled {
  const { truePositive, falsePositive, trueNegative, falseNegative } = confusion;
  const key = `${truePositive},${falsePositive},${trueNegative},${falseNegative}`;
  const known = cache.get(key);
  if (known) return known;
  if (cache.size >= MAX_CACHED) cache.clear();
  const values = summarize({ truePositive, falsePositive, trueNegative, falseNegative });
  const sampled: Sampled = { values, samples: drawSamples(values, 0), intervals: {} };
  cache.set(key, sampled);
  return sampled;
}

/** Return the interval of the cost of thresholds; `slices` have no rows in common. */
export function computeCostInterval(slices: readonly Confusion[], ratio: number): Interval {
  // A sum of independent Poisson numbers is one, too.
  const total = addConfusions(slices);
  // Without errors all samples are equal; the bound is the exact one of a Poisson number.
  if (total.falsePositive + total.falseNegative === 0)
    return { low: 0, high: -Math.log(TAIL) * Math.max(1, ratio) };
  const samples = drawSamples(total, 0);
  const costs = Float64Array.from(
    { length: SAMPLES },
    (_, number) => ratio * (samples[4 * number + 1] ?? 0) + (samples[4 * number + 3] ?? 0),
  );
  return makeInterval(computeCost(total, ratio), costs, Infinity);
}

/** Return the interval of the largest difference of a rate between slices; the largest of rates. */
export function computeGapInterval(
  slices: readonly Confusion[],
  measures: readonly Measure[],
): Interval {
  if (measures.length === 0) return NO_INTERVAL;
  const values = slices.map(summarize);
  const samples = slices.map(drawSamples);
  const largest = new Float64Array(SAMPLES).fill(NaN);
  for (const measure of measures) {
    const rates = samples.map((slice) => computeRates(slice, MEASURED_RATES[measure]));
    for (let number = 0; number < SAMPLES; number++) {
      let [low, high] = [Infinity, -Infinity];
      for (const slice of rates) {
        const rate = slice[number] ?? NaN;
        // Neither is true of NaN.
        if (rate < low) low = rate;
        if (rate > high) high = rate;
      }
      if (high >= low && !(high - low <= (largest[number] ?? NaN))) largest[number] = high - low;
    }
  }
  const gap = Math.max(...measures.map((measure) => computeGap(values, measure)));
  return makeInterval(gap, largest, 1);
}

/** Return a rate of each sample. */
function computeRates(samples: Float64Array, rate: Rate): Float64Array {
  const formula = RATES[rate];
  const rates = new Float64Array(SAMPLES);
  for (let number = 0; number < SAMPLES; number++) {
    const at = 4 * number;
    const [tp, fp] = [samples[at] ?? 0, samples[at + 1] ?? 0];
    rates[number] = formula(tp, fp, samples[at + 2] ?? 0, samples[at + 3] ?? 0);
  }
  return rates;
}

/** Samples in which a value is undefined are left out, unless these are most of them. */
function makeInterval(value: number, samples: Float64Array, highest: number): Interval {
  let [count, sum, squares] = [0, 0, 0];
  for (const sample of samples) {
    if (Number.isNaN(sample)) continue;
    // Differences from the value: squares of large numbers would lose digits.
    const difference = sample - value;
    count++;
    sum += difference;
    squares += difference * difference;
  }
  if (Number.isNaN(value) || count < SAMPLES / 2) return NO_INTERVAL;
  const variance = Math.max(0, squares - (sum * sum) / count) / (count - 1);
  const margin = STUDENT_T * Math.sqrt(variance);
  return { low: Math.max(0, value - margin), high: Math.min(highest, value + margin) };
}

/** Return the bounds of Clopper and Pearson for a rate that is 0 or 1. */
function getExactInterval(metrics: ThresholdMetrics, rate: Rate): Interval {
  const trials = TRIALS[rate](metrics);
  const bound = TAIL ** (1 / trials);
  const isLow = metrics[rate] === 0;
  const edge = isLow ? 1 - bound : bound;
  // With J = TP / (TP + FP + FN), F1 is 2 J / (1 + J).
  const end = rate === 'f1' ? (2 * edge) / (1 + edge) : edge;
  return isLow ? { low: 0, high: end } : { low: end, high: 1 };
}

/** The number of datapoints that each rate is a share of. */
const TRIALS: Readonly<Record<Rate, (metrics: ThresholdMetrics) => number>> = {
  accuracy: ({ count }) => count,
  precision: ({ truePositive, falsePositive }) => truePositive + falsePositive,
  recall: ({ truePositive, falseNegative }) => truePositive + falseNegative,
  falsePositiveRate: ({ trueNegative, falsePositive }) => trueNegative + falsePositive,
  falseNegativeRate: ({ truePositive, falseNegative }) => truePositive + falseNegative,
  trueNegativeRate: ({ trueNegative, falsePositive }) => trueNegative + falsePositive,
  positiveRate: ({ count }) => count,
  negativeRate: ({ count }) => count,
  falseDiscoveryRate: ({ truePositive, falsePositive }) => truePositive + falsePositive,
  falseOmissionRate: ({ trueNegative, falseNegative }) => trueNegative + falseNegative,
  f1: ({ count, trueNegative }) => count - trueNegative,
  falsePositiveShare: ({ count }) => count,
  falseNegativeShare: ({ count }) => count,
};

/** Return the confusion counts of the samples of a slice, four numbers for each. */
function drawSamples(confusion: Confusion, slice: number): Float64Array {
  const { truePositive, falsePositive, trueNegative, falseNegative } = confusion;
  const own = (draws[slice] ??= makeDraws(SEED + slice));
  const samples = new Float64Array(4 * SAMPLES);
  for (let at = 0; at < samples.length; at += 4) {
    samples[at] = drawPoisson(own, truePositive, at);
    samples[at + 1] = drawPoisson(own, falsePositive, at + 1);
    samples[at + 2] = drawPoisson(own, trueNegative, at + 2);
    samples[at + 3] = drawPoisson(own, falseNegative, at + 3);
  }
  return samples;
}

function drawPoisson(draws: Draws, mean: number, at: number): number {
  if (mean === 0) return 0;
  if (mean > MAX_EXACT_MEAN)
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * (draws.normal[at] ?? 0)));
  const uniform = draws.uniform[at] ?? 0;
  let probability = Math.exp(-mean);
  let total = probability;
  let count = 0;
  // The bound is for rounding errors of the sum; no draw is larger.
  while (total < uniform && count < 10 * MAX_EXACT_MEAN) {
    probability *= mean / ++count;
    total += probability;
  }
  return count;
}

function makeDraws(seed: number): Draws {
  const random = makeRandom(seed);
  const uniform = Float64Array.from({ length: 4 * SAMPLES }, random);
  // Box-Muller.
  const normal = Float64Array.from(
    { length: 4 * SAMPLES },
    () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
  );
  return { uniform, normal };
}

/** Return a generator of numbers from 0 to 1 (mulberry32). */
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
