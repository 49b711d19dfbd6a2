export interface SampleStats {
  readonly count: number;
  readonly mean: number;
  /** Of a sample, so with one less than the count; NaN for a single value. */
  readonly std: number;
}

/** Over the finite ones; null if there are none. */
export function computeStats(values: Iterable<number>): SampleStats | null {
  let count = 0;
  let mean = 0;
  let squares = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    // Welford's way does not lose the digits of numbers that differ little.
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

/** The part of all numbers at either end that may be strays. */
const OUTLIER_FRACTION = 0.03;
/** How many times wider than the rest strays have to make an extent before they are left out. */
const OUTLIER_RATIO = 3;

/** The smallest and the largest finite number in some columns with gaps; null without any. */
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

/** The same without a few numbers so far away that nothing could be told of the others. */
export function getRobustExtent(columns: Columns): Extent | null {
  const all = [...columns];
  const whole = getExtent(all);
  if (!whole) return null;
  const values = all.flatMap((column) => column.filter((value) => Number.isFinite(value)));
  const sorted = Float64Array.from(values as number[]).sort();
  const low = sorted[Math.floor(OUTLIER_FRACTION * (sorted.length - 1))] ?? whole.low;
  const high = sorted[Math.ceil((1 - OUTLIER_FRACTION) * (sorted.length - 1))] ?? whole.high;
  const room = (high - low) / 2;
  if (room === 0 || whole.high - whole.low < OUTLIER_RATIO * (high - low)) return whole;
  return { low: Math.max(whole.low, low - room), high: Math.min(whole.high, high + room) };
}
