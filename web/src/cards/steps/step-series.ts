import type { SortedSteps } from '../../api/client';
import type { SeriesSteps } from '../../api/schemas';

export type { SortedSteps } from '../../api/client';

/** Return a series sorted by step: several workers may log out of order. */
export function runSteps({
  run,
  tag,
  index,
  step,
  wall_time,
  fingerprint,
}: SeriesSteps): SortedSteps {
  if (isSorted(step)) return { run, tag, index, step, wallTime: wall_time, fingerprint };
  const order = Array.from(step.keys()).sort((a, b) => (step[a] ?? 0) - (step[b] ?? 0));
  const pick = (column: Int32Array | Float64Array) => order.map((at) => column[at] ?? 0);
  return {
    run,
    tag,
    index: Int32Array.from(pick(index)),
    step: Float64Array.from(pick(step)),
    wallTime: Float64Array.from(pick(wall_time)),
    fingerprint: Int32Array.from(pick(fingerprint)),
  };
}

function isSorted(steps: Float64Array): boolean {
  return steps.every((step, at) => at === 0 || (steps[at - 1] ?? 0) <= step);
}

/** Return the index of the last value at or before a step; -1 if there is none. */
export function indexAtStep({ step: steps }: SortedSteps, step: number | null): number {
  return step === null ? steps.length - 1 : countUpTo(steps, step) - 1;
}

/** Return how many sorted numbers are at most `end`. */
export function countUpTo(sorted: ArrayLike<number>, end: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) <= end) low = middle + 1;
    else high = middle;
  }
  return low;
}

const NO_STEPS = new Float64Array(0);

/** Return the steps of several series, sorted and without duplicates. */
export function mergeSteps(series: readonly Pick<SortedSteps, 'step'>[]): Float64Array {
  return series.reduce<Float64Array>((merged, { step }) => merge(merged, step), NO_STEPS);
}

function merge(one: Float64Array, other: Float64Array): Float64Array {
  const merged = new Float64Array(one.length + other.length);
  let [a, b, count] = [0, 0, 0];
  while (a < one.length || b < other.length) {
    const next = Math.min(one[a] ?? Infinity, other[b] ?? Infinity);
    while (a < one.length && one[a] === next) a++;
    while (b < other.length && other[b] === next) b++;
    merged[count++] = next;
  }
  return merged.slice(0, count);
}
