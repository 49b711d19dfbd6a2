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
