/** How high the items of a long list are: guessed, until they have been seen. */
export class ItemHeights {
  readonly #known = new Map<string, number>();
  #sum = 0;

  /** Returns whether that is news. */
  set(key: string, height: number): boolean {
    const before = this.#known.get(key);
    if (before === height) return false;
    this.#sum += height - (before ?? 0);
    this.#known.set(key, height);
    return true;
  }

  /** What has not been seen is taken to be as high as the rest on the whole. */
  get(key: string, usual: number): number {
    return this.#known.get(key) ?? (this.#known.size > 0 ? this.#sum / this.#known.size : usual);
  }
}

/** Where each item begins, and last where the list ends. */
export function itemOffsets(
  keys: readonly string[],
  heights: ItemHeights,
  usual: number,
  gap: number,
): Float64Array {
  const tops = new Float64Array(keys.length + 1);
  keys.forEach((key, at) => {
    tops[at + 1] = (tops[at] ?? 0) + heights.get(key, usual) + gap;
  });
  return tops;
}

/** The items that reach into a stretch of the list. */
export function visibleItems(
  tops: Float64Array,
  top: number,
  bottom: number,
): { first: number; end: number } {
  const count = tops.length - 1;
  const first = Math.max(0, countBelow(tops, top) - 1);
  return { first: Math.min(first, count), end: Math.min(count, countBelow(tops, bottom)) };
}

/** How many begin before `y`. */
function countBelow(tops: Float64Array, y: number): number {
  let low = 0;
  let high = tops.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tops[middle] ?? Infinity) < y) low = middle + 1;
    else high = middle;
  }
  return low;
}
