export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** The smallest and the largest finite number in some columns with gaps; null without any. */
export function extentOf(columns: Iterable<readonly (number | null)[]>): Extent | null {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (value === null || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? { low, high } : null;
}
