import type { Edges, Path } from './pen';

/** How far up and down an area reaches in each column of pixels. */
export class Columns {
  readonly #low: Float32Array;
  readonly #high: Float32Array;
  /** The width of a column. */
  readonly #wide: number;

  constructor(count: number, wide: number) {
    this.#low = new Float32Array(count).fill(NaN);
    this.#high = new Float32Array(count).fill(NaN);
    this.#wide = wide;
  }

  add({ x, low, high, length }: Edges): void {
    for (let at = 0; at < length; at++) {
      const from = (x[at] ?? NaN) / this.#wide;
      const to = at + 1 < length ? (x[at + 1] ?? NaN) / this.#wide : NaN;
      this.#cover(Math.floor(from), low[at] ?? NaN, high[at] ?? NaN);
      const isGap = Number.isNaN((low[at] ?? NaN) + (low[at + 1] ?? NaN));
      if (to - from > 0 && !isGap) this.#addPiece(at, from, to, low, high);
    }
  }

  /** The columns from one point to the next, whose edges are straight between them. */
  #addPiece(at: number, from: number, to: number, low: Float32Array, high: Float32Array): void {
    const slope = (edge: Float32Array): number =>
      ((edge[at + 1] ?? NaN) - (edge[at] ?? NaN)) / (to - from);
    const [down, up] = [slope(low), slope(high)];
    const last = Math.min(this.#low.length - 1, Math.floor(to));
    for (let column = Math.max(0, Math.floor(from)); column <= last; column++) {
      const begin = Math.max(from, column) - from;
      const end = Math.min(to, column + 1) - from;
      for (const along of [begin, end])
        this.#cover(column, (low[at] ?? NaN) + down * along, (high[at] ?? NaN) + up * along);
    }
  }

  #cover(column: number, low: number, high: number): void {
    if (!(column >= 0 && column < this.#low.length) || Number.isNaN(low + high)) return;
    const [least, most] = low < high ? [low, high] : [high, low];
    if (!((this.#low[column] ?? NaN) <= least)) this.#low[column] = least;
    if (!((this.#high[column] ?? NaN) >= most)) this.#high[column] = most;
  }

  /** An upright line in the middle of each column. */
  toPath(): Path {
    const points = new Float32Array(6 * this.#low.length);
    let length = 0;
    for (let column = 0; column < this.#low.length; column++) {
      const low = this.#low[column] ?? NaN;
      if (Number.isNaN(low)) continue;
      const x = (column + 0.5) * this.#wide;
      points.set([x, low, x, this.#high[column] ?? NaN, NaN, NaN], length);
      length += 6;
    }
    return { points, length };
  }
}
