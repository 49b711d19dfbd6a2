/** Looking for places in columns that rise. */

export function rises(column: Float64Array): boolean {
  return column.every((value, at) => at === 0 || value >= (column[at - 1] ?? NaN));
}

/** How many values lie below `place`. */
export function countBelow(column: Float64Array, place: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row of the last value that is not above `place`; -1 if there is none. */
export function lastAtOrBefore(column: Float64Array, place: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value at `place` on straight lines between points; NaN where they do not reach. */
export function interpolate(x: Float64Array, y: Float64Array, place: number): number {
  const row = lastAtOrBefore(x, place);
  const [x0 = NaN, x1 = NaN] = [x[row], x[row + 1]];
  const [y0 = NaN, y1 = NaN] = [y[row], y[row + 1]];
  if (x0 === place) return y0;
  return y0 + ((place - x0) / (x1 - x0)) * (y1 - y0);
}
