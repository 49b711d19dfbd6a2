export interface RowRange {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
}

/** Which rows of a list with rows of one height are on the screen, with some to spare. */
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

/** Where to scroll so that a row is wholly seen; nowhere if it is already. */
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
