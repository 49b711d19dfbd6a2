import { countBelow } from '../../../charts/axis/extremes';

/**
 * Where a value stands among rising numbers, from 0 to 1. Equal values share the middle, and one that
 * is none of them stands between its neighbours.
 */
export function rankIn(sorted: Float64Array, value: number): number {
  const before = countBelow(sorted, value);
  const upTo = countBelow(sorted, nextAbove(value));
  const rank = upTo > before ? (before + upTo - 1) / 2 : rankBetween(sorted, before, value);
  return rank / Math.max(1, sorted.length - 1);
}

function rankBetween(sorted: Float64Array, before: number, value: number): number {
  const [low, high] = [sorted[before - 1], sorted[before]];
  if (low === undefined || high === undefined) return low === undefined ? 0 : sorted.length - 1;
  return before - 1 + (value - low) / (high - low);
}

function nextAbove(value: number): number {
  return value + Math.max(Number.MIN_VALUE, Math.abs(value) * Number.EPSILON);
}
