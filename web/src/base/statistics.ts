export interface Spread {
  readonly count: number;
  readonly mean: number;
  /** Of a sample, so with one less than the count; NaN for a single value. */
  readonly std: number;
}

/** Over the finite ones; null if there are none. */
export function spreadOf(values: Iterable<number>): Spread | null {
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
