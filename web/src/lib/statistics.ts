export interface SampleStats {
  readonly count: number;
  readonly mean: number;
  /** Sample standard deviation (n - 1); NaN for a single value. */
  readonly std: number;
}

/** Return statistics of the finite values; null if there are none. */
export function computeStats(values: Iterable<number>): SampleStats | null {
  let count = 0;
  let mean = 0;
  let squares = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    // Welford's algorithm is numerically stable.
    const before = value - mean;
    mean += before / ++count;
    squares += before * (value - mean);
  }
  return count === 0 ? null : { count, mean, std: Math.sqrt(squares / (count - 1)) };
}

export interface Extent {
  readonly low: number;
  readonly high: number;
}

type Columns = Iterable<readonly (number | null)[]>;

/** The fraction of values at each end that may be outliers. */
const OUTLIER_FRACTION = 0.03;
/** Outliers are excluded if they make the extent wider by this factor. */
const OUTLIER_RATIO = 3;

/** Return the range of the finite values of columns with gaps; null if there are none. */
export function getExtent(columns: Columns): Extent | null {
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

/** Return the extent without outliers that would hide the other values. */
export function getRobustExtent(columns: Columns): Extent | null {
  const all = [...columns];
  const whole = getExtent(all);
  if (!whole) return null;
  const values = all.flatMap((column) => column.filter((value) => Number.isFinite(value)));
  const sorted = Float64Array.from(values as number[]).sort();
  const low = sorted[Math.floor(OUTLIER_FRACTION * (sorted.length - 1))] ?? whole.low;
  const high = sorted[Math.ceil((1 - OUTLIER_FRACTION) * (sorted.length - 1))] ?? whole.high;
  const margin = (high - low) / 2;
  if (margin === 0 || whole.high - whole.low < OUTLIER_RATIO * (high - low)) return whole;
  return { low: Math.max(whole.low, low - margin), high: Math.min(whole.high, high + margin) };
}
