/**
 * 95 % intervals of metrics at any threshold, without the server, by the Poisson bootstrap.
 *
 * A sample repeats each row Poisson(1) times. The four confusion counts of a sample are therefore
 * independent Poisson numbers whose means are the counts of the data, and need no rows.
 */
import { type Confusion, summarize, type ThresholdMetrics } from './threshold-metrics';

export interface Interval {
  readonly low: number;
  readonly high: number;
}

export type Rate = Exclude<keyof ThresholdMetrics, keyof Confusion | 'count'>;
export type RateIntervals = Readonly<Record<Rate, Interval>>;

const SAMPLES = 200;
/** Quantile of Student's t distribution with one degree of freedom less than samples. */
const STUDENT_T = 1.972;
/** Larger means are drawn from the normal distribution. */
const MAX_EXACT_MEAN = 30;
const MAX_CACHED = 1000;
const SEED = 1;

/** The same for all counts, so that intervals do not flicker while a threshold is dragged. */
let draws: { readonly uniform: Float64Array; readonly normal: Float64Array } | null = null;
const cache = new Map<string, RateIntervals>();

/** Return the interval of each rate; NaN if it is undefined in the data or in most samples. */
export function computeIntervals(confusion: Confusion): RateIntervals {
  const { truePositive, falsePositive, trueNegative, falseNegative } = confusion;
  const key = [truePositive, falsePositive, trueNegative, falseNegative].join();
  const known = cache.get(key);
  if (known) return known;
  if (cache.size >= MAX_CACHED) cache.clear();
  const values = summarize({ truePositive, falsePositive, trueNegative, falseNegative });
  const samples = Array.from({ length: SAMPLES }, (_, number) =>
    summarize({
      truePositive: drawPoisson(truePositive, 4 * number),
      falsePositive: drawPoisson(falsePositive, 4 * number + 1),
      trueNegative: drawPoisson(trueNegative, 4 * number + 2),
      falseNegative: drawPoisson(falseNegative, 4 * number + 3),
    }),
  );
  const estimate = (rate: Rate): Interval => {
    const found = samples.map((sample) => sample[rate]).filter((value) => !Number.isNaN(value));
    const value = values[rate];
    if (Number.isNaN(value) || found.length < SAMPLES / 2) return { low: NaN, high: NaN };
    const mean = found.reduce((sum, one) => sum + one, 0) / found.length;
    const squares = found.reduce((sum, one) => sum + (one - mean) ** 2, 0);
    const margin = STUDENT_T * Math.sqrt(squares / (found.length - 1));
    return { low: Math.max(0, value - margin), high: Math.min(1, value + margin) };
  };
  const intervals: RateIntervals = {
    accuracy: estimate('accuracy'),
    precision: estimate('precision'),
    recall: estimate('recall'),
    falsePositiveRate: estimate('falsePositiveRate'),
    falseNegativeRate: estimate('falseNegativeRate'),
    trueNegativeRate: estimate('trueNegativeRate'),
    positiveRate: estimate('positiveRate'),
    negativeRate: estimate('negativeRate'),
    falseDiscoveryRate: estimate('falseDiscoveryRate'),
    falseOmissionRate: estimate('falseOmissionRate'),
    f1: estimate('f1'),
    falsePositiveShare: estimate('falsePositiveShare'),
    falseNegativeShare: estimate('falseNegativeShare'),
  };
  cache.set(key, intervals);
  return intervals;
}

function drawPoisson(mean: number, at: number): number {
  draws ??= makeDraws();
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

function makeDraws(): { uniform: Float64Array; normal: Float64Array } {
  const random = makeRandom(SEED);
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
