import { countBelow } from '../../../charts/axis/extremes';

/**
 * Where a value stands among rising numbers, from 0 to 1. Equal values share the middle, and one that
 * is none of them stands between its neighbours.
 */
export function rankIn(sorted: Float64Array, value: number): number {
  const before = countBelow(sorted, value);
  if (sorted[before] !== value)
    return rankBetween(sorted, before, value) / Math.max(1, sorted.length - 1);
  // Most values have no equal, and need not be looked for a second time.
  const last = sorted[before + 1] === value ? countBelow(sorted, nextAbove(value)) - 1 : before;
  return (before + last) / 2 / Math.max(1, sorted.length - 1);
}

function rankBetween(sorted: Float64Array, before: number, value: number): number {
  const [low, high] = [sorted[before - 1], sorted[before]];
  if (low === undefined || high === undefined) return low === undefined ? 0 : sorted.length - 1;
  return before - 1 + (value - low) / (high - low);
}

function nextAbove(value: number): number {
  return value + Math.max(Number.MIN_VALUE, Math.abs(value) * Number.EPSILON);
}

/** Where each value stands among all; NaN for one that is no number. */
export function ranksOf(values: Float64Array): Float64Array {
  const sorted = values.filter(Number.isFinite).sort();
  return values.map((value) => (Number.isFinite(value) ? rankIn(sorted, value) : NaN));
}
