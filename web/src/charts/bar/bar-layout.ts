/** A bar, as fractions of the width. */
export interface BarRect {
  readonly left: number;
  readonly width: number;
}

export interface BarLayout {
  readonly bars: readonly BarRect[];
  /** Position of zero. */
  readonly zero: number;
}

/**
 * Return bars from zero to each value, scaled to the width; non-finite values have an empty bar.
 */
export function layoutBars(values: readonly number[]): BarLayout {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const high = Math.max(0, ...finite);
  const span = high - low || 1;
  const zero = Math.abs(low) / span;
  const bars = values.map((value) => {
    if (!Number.isFinite(value)) return { left: zero, width: 0 };
    return { left: zero + Math.min(0, value) / span, width: Math.abs(value) / span };
  });
  return { bars, zero };
}
