/** How many parts of an axis have a middle of their own. */
const PARTS = 12;
/** A part with fewer sessions says too little. */
const FEWEST = 2;

/** The middle of the sessions in each part of an axis, as a line in places from 0 to 1. */
export function trendOf(x: Float32Array, y: Float32Array, rows: Int32Array): [number, number][] {
  const parts = new Map<number, { readonly xs: number[]; readonly ys: number[] }>();
  for (const row of rows) {
    const [atX, atY] = [x[row] ?? NaN, y[row] ?? NaN];
    if (Number.isNaN(atX + atY)) continue;
    const part = Math.min(PARTS - 1, Math.floor(atX * PARTS));
    const found = parts.get(part) ?? { xs: [], ys: [] };
    found.xs.push(atX);
    found.ys.push(atY);
    parts.set(part, found);
  }
  return [...parts.values()]
    .filter(({ xs }) => xs.length >= FEWEST)
    .map(({ xs, ys }): [number, number] => [middleOf(xs), middleOf(ys)])
    .sort(([one], [other]) => one - other);
}

function middleOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const [low, high] = [(sorted.length - 1) >> 1, sorted.length >> 1];
  return ((sorted[low] ?? NaN) + (sorted[high] ?? NaN)) / 2;
}
