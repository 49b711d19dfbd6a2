/**
 * Scrolling of lists that are taller than a browser allows an element to be (Firefox 17.8, Chrome 33.5
 * million pixels). The scrollable element is shorter than the list, and its position is scaled.
 */

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
