/**
 * Which rows of a virtual list to render, for rows of the same height and for measured rows, and
 * scrolling of lists that are taller than a browser allows an element to be.
 */

export interface RowRange {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

/** Return the rows of a list with a fixed row height to render, with `spare` rows at each side. */
export function getVisibleRows(
  scrollTop: number,
  height: number,
  rowHeight: number,
  count: number,
  spare: number,
): RowRange {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - spare);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + spare);
  return { first: Math.min(first, end), end };
}

/** Return the scroll position that makes a row fully visible. */
export function getScrollTop(
  index: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return Math.max(scrollTop, top + rowHeight - height);
}

/** Heights of the items of a virtual list: estimated until they have been measured. */
export class ItemHeights {
  readonly #known = new Map<string, number>();
  #sum = 0;

  /** Set a measured height and return whether it changed. */
  set(key: string, height: number): boolean {
    const previous = this.#known.get(key);
    if (previous === height) return false;
    this.#sum += height - (previous ?? 0);
    this.#known.set(key, height);
    return true;
  }

  /** Return the height of an item, or an estimate: the mean of the known heights. */
  get(key: string, initial: number): number {
    return this.#known.get(key) ?? (this.#known.size > 0 ? this.#sum / this.#known.size : initial);
  }
}

/** Return the offset of each item, followed by the height of the list. */
export function getItemOffsets(
  keys: readonly string[],
  heights: ItemHeights,
  initial: number,
): Float64Array {
  const offsets = new Float64Array(keys.length + 1);
  keys.forEach((key, index) => {
    offsets[index + 1] = (offsets[index] ?? 0) + heights.get(key, initial);
  });
  return offsets;
}

/** Return the items between two scroll positions. */
export function getVisibleItems(offsets: Float64Array, top: number, bottom: number): RowRange {
  const count = offsets.length - 1;
  const first = Math.max(0, countBelow(offsets, top) - 1);
  return { first: Math.min(first, count), end: Math.min(count, countBelow(offsets, bottom)) };
}

/** Return how many items start above `y`. */
function countBelow(offsets: Float64Array, y: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? Infinity) < y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Height of the tallest scrollable element, in pixels. */
export const MAX_SCROLL_HEIGHT_PX = 15_000_000;

export interface ScrollArea {
  /** Height of all rows. */
  readonly listHeight: number;
  /** Height of the visible part. */
  readonly viewHeight: number;
}

/** Return the height of the scrollable element. */
export function getScrollHeight({ listHeight }: ScrollArea): number {
  return Math.min(listHeight, MAX_SCROLL_HEIGHT_PX);
}

/** Return the position in the list for a position of the scroll bar. */
export function toListTop(area: ScrollArea, scrollTop: number): number {
  return clampListTop(area, scrollTop * getScale(area));
}

/** Return the position of the scroll bar for a position in the list. */
export function toScrollTop(area: ScrollArea, listTop: number): number {
  return listTop / getScale(area);
}

export function clampListTop({ listHeight, viewHeight }: ScrollArea, top: number): number {
  return Math.max(0, Math.min(top, listHeight - viewHeight));
}

function getScale(area: ScrollArea): number {
  const range = getScrollHeight(area) - area.viewHeight;
  return range > 0 ? (area.listHeight - area.viewHeight) / range : 1;
}
