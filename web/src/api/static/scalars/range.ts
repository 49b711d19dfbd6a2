import type { RangeRow } from '../../scalars';
import type { WireNumber } from '../../types';
import { type Curve, findRows, take } from './curve';
import { findExtremes, pointOf } from './points';

/** What a curve does between two places; null if it has no point there. */
export function sumUp(
  run: string,
  tag: string,
  curve: Curve,
  start: number | null,
  stop: number | null,
): RangeRow | null {
  const inside = take(curve, findRows(curve, start, stop));
  const count = inside.x.length;
  if (count === 0) return null;
  const { low, high } = findExtremes(inside);
  const before = inside.value[0] ?? NaN;
  const change = (inside.value[count - 1] ?? NaN) - before;
  return {
    run,
    tag,
    start: pointOf(inside, 0),
    stop: pointOf(inside, count - 1),
    min: pointOf(inside, low),
    max: pointOf(inside, high),
    mean: meanOf(inside),
    count,
    change: finite(change),
    change_ratio: finite(change / Math.abs(before)),
  };
}

/** Not known where points are missing: those that are here were not chosen by chance. */
function meanOf({ series, value }: Curve): WireNumber | null {
  const known = value.filter(Number.isFinite);
  if (series.index !== null || known.length === 0) return null;
  return known.reduce((sum, one) => sum + one, 0) / known.length;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
