import type { Axis } from './axis';

/** How many sessions stand in each part of an axis. */
export interface Histogram {
  readonly all: Int32Array;
  readonly passing: Int32Array;
  readonly most: number;
}

export function histogramOf(places: Float32Array, passing: Uint8Array, bins: number): Histogram {
  const all = new Int32Array(bins);
  const among = new Int32Array(bins);
  for (let row = 0; row < places.length; row++) {
    const place = places[row] ?? NaN;
    if (Number.isNaN(place)) continue;
    const bin = Math.min(bins - 1, Math.max(0, Math.floor(place * bins)));
    all[bin] = (all[bin] ?? 0) + 1;
    if (passing[row]) among[bin] = (among[bin] ?? 0) + 1;
  }
  return { all, passing: among, most: Math.max(1, ...all) };
}

/** As many bins as an axis has words, or enough to see the shape of numbers. */
export function binsOf({ column }: Axis, usual: number): number {
  return column.words ? Math.max(1, column.words.length) : usual;
}
