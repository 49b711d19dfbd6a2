import type { Smoother, Smoothing } from '../../scalars';

type Smooth = (value: Float64Array, step: Float64Array, amount: number) => Float64Array;

/**
 * The values smoothed in their order; where they are not finite, as they are. The server does the
 * same, over all points of the log (`tracklight/index/smoothing.py`).
 */
export function smooth(value: Float64Array, step: Float64Array, how: Smoothing): Float64Array {
  return isConstant(value) ? value : SMOOTHERS[how.kind](value, step, how.amount);
}

/** What never changes stays as it is, to the last digit. */
function isConstant(value: Float64Array): boolean {
  const finite = value.filter(Number.isFinite);
  return finite.every((one) => one === finite[0]);
}

/** TensorBoard's: made up for having started at nothing. */
function ema(value: Float64Array, _: Float64Array, weight: number): Float64Array {
  let last = 0;
  let left = 1;
  return value.map((one) => {
    if (!Number.isFinite(one)) return one;
    last = weight * last + (1 - weight) * one;
    left *= weight;
    return left > 1e-17 ? last / (1 - left) : last;
  });
}

/** The weight of a point halves every `halfLife` steps. */
function timeEma(value: Float64Array, step: Float64Array, halfLife: number): Float64Array {
  let total = 0;
  let weight = 0;
  let before = 0;
  return value.map((one, at) => {
    if (!Number.isFinite(one)) return one;
    const now = step[at] ?? 0;
    const decay = weight === 0 ? 0 : 2 ** ((before - now) / halfLife);
    total = total * decay + one;
    weight = weight * decay + 1;
    before = now;
    return total / weight;
  });
}

function mean(value: Float64Array, _: Float64Array, size: number): Float64Array {
  return overWindows(value, size, (some) => some.reduce((a, b) => a + b, 0) / some.length);
}

function median(value: Float64Array, _: Float64Array, size: number): Float64Array {
  return overWindows(value, size, (some) => {
    const sorted = some.sort();
    const middle = sorted.length >> 1;
    const upper = sorted[middle] ?? NaN;
    return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
  });
}

function gaussian(value: Float64Array, _: Float64Array, deviation: number): Float64Array {
  const reach = Math.ceil(4 * deviation);
  return value.map((one, at) => {
    if (!Number.isFinite(one)) return one;
    let total = 0;
    let weights = 0;
    for (let near = Math.max(0, at - reach); near <= at + reach && near < value.length; near++) {
      const other = value[near] ?? NaN;
      if (!Number.isFinite(other)) continue;
      const weight = Math.exp(-0.5 * ((near - at) / deviation) ** 2);
      total += weight * other;
      weights += weight;
    }
    return total / weights;
  });
}

/** A window around each point, with fewer at the ends, and its finite values in one number. */
function overWindows(
  value: Float64Array,
  size: number,
  sumUp: (some: Float64Array) => number,
): Float64Array {
  const whole = Math.round(size);
  const before = whole >> 1;
  const after = (whole - 1) >> 1;
  return value.map((one, at) => {
    if (!Number.isFinite(one)) return one;
    const window = value.slice(Math.max(0, at - before), at + after + 1);
    return sumUp(window.filter(Number.isFinite));
  });
}

const SMOOTHERS: Readonly<Record<Smoother, Smooth>> = {
  ema,
  time_ema: timeEma,
  mean,
  median,
  gaussian,
};
