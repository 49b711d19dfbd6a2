export interface Extent {
  readonly low: number;
  readonly high: number;
}

type Columns = Iterable<readonly (number | null)[]>;

/** The part of all numbers at either end that may be strays. */
const STRAY = 0.03;
/** How many times wider than the rest strays have to make an extent before they are left out. */
const FAR = 3;

/** The smallest and the largest finite number in some columns with gaps; null without any. */
export function extentOf(columns: Columns): Extent | null {
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
export function extentOfMost(columns: Columns): Extent | null {
  const all = [...columns];
  const whole = extentOf(all);
  if (!whole) return null;
  const values = all.flatMap((column) => column.filter((value) => Number.isFinite(value)));
  const sorted = Float64Array.from(values as number[]).sort();
  const low = sorted[Math.floor(STRAY * (sorted.length - 1))] ?? whole.low;
  const high = sorted[Math.ceil((1 - STRAY) * (sorted.length - 1))] ?? whole.high;
  const room = (high - low) / 2;
  if (room === 0 || whole.high - whole.low < FAR * (high - low)) return whole;
  return { low: Math.max(whole.low, low - room), high: Math.min(whole.high, high + room) };
}
