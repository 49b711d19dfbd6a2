/** A bar in parts of the width there is. */
export interface BarRect {
  readonly left: number;
  readonly width: number;
}

export interface BarLayout {
  readonly bars: readonly BarRect[];
  /** Where zero is. */
  readonly zero: number;
}

/** Bars from zero to each value, the longest as long as there is room; none for what is not finite. */
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
