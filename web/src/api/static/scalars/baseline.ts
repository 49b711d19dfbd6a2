import type { Comparison } from '../../scalars';
import { type Curve, findRows, take } from './curve';
import { interpolate } from './search';

/** A curve that others are compared with: `x` rises, and all is finite. */
export function makeBaseline(curve: Curve): Curve {
  const rows = findRows(curve, null, null).filter((row) => Number.isFinite(curve.value[row]));
  rows.sort((a, b) => (curve.x[a] ?? 0) - (curve.x[b] ?? 0));
  // Of several points at one place the last counts.
  const kept = rows.filter((row, at) => curve.x[row] !== curve.x[rows[at + 1] ?? -1]);
  return take(curve, kept);
}

/** A curve less, or divided by, the baseline, where that has values to compare with. */
export function compare(curve: Curve, base: Curve | undefined, mode: Comparison): Curve {
  if (!base || base.x.length === 0) return take(curve, []);
  const ends = [base.x[0] ?? NaN, base.x[base.x.length - 1] ?? NaN] as const;
  const within = take(curve, findRows(curve, ...ends));
  const against = (own: Float64Array, column: Float64Array): Float64Array =>
    own.map((value, at) => {
      const other = interpolate(base.x, column, within.x[at] ?? NaN);
      return mode === 'difference' ? value - other : value / other;
    });
  const value = against(within.value, base.value);
  const isSmoothed = within.smooth !== within.value || base.smooth !== base.value;
  return { ...within, value, smooth: isSmoothed ? against(within.smooth, base.smooth) : value };
}
