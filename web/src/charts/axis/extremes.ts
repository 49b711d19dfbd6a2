import type { Numbers, ScaleKind, Span } from '../types';

/** Where in rising numbers a span begins and ends, as for `subarray`. */
export function partWithin(x: Numbers, within: Span | null, scatter = false): [number, number] {
  if (!within || scatter) return [0, x.length];
  return [countBelow(x, within[0]), countBelow(x, within[1] + Math.abs(within[1]) * 1e-12)];
}

/** How many of some rising numbers are smaller. */
export function countBelow(x: Numbers, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? NaN) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The smallest and the largest of the numbers that a kind of scale can show. */
export class Extremes {
  #low = Infinity;
  #high = -Infinity;
  readonly #kind: ScaleKind;

  constructor(kind: ScaleKind) {
    this.#kind = kind;
  }

  get span(): Span | null {
    return this.#low <= this.#high ? [this.#low, this.#high] : null;
  }

  addAll(values: Numbers, from = 0, to = values.length): void {
    for (let at = from; at < to; at++) this.#add(values[at] ?? NaN);
  }

  /** Of rising numbers; a log axis begins at the first that it can show. */
  addEnds(values: Numbers): void {
    if (values.length === 0) return;
    const first = this.#kind === 'log' ? countBelow(values, Number.MIN_VALUE) : 0;
    this.#add(values[first] ?? NaN);
    this.#add(values[values.length - 1] ?? NaN);
  }

  #add(value: number): void {
    if (!isShown(value, this.#kind)) return;
    if (value < this.#low) this.#low = value;
    if (value > this.#high) this.#high = value;
  }
}

export function isShown(value: number, kind: ScaleKind): boolean {
  return Number.isFinite(value) && (kind === 'linear' || value > 0);
}
