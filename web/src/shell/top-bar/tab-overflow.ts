/** Items that fit into a row beside a "More" button, and those that move into its menu. */
export interface TabSplit {
  readonly shown: readonly number[];
  readonly overflow: readonly number[];
}

/**
 * Split items by the available width. The active item is always shown; others are shown in order as
 * long as they fit.
 *
 * @param widths Width of each item in px.
 * @param active Index of the active item, or -1.
 * @param available Width of the row in px.
 * @param moreWidth Width of the "More" button in px.
 * @param needsMore Whether the button is shown even if all items fit.
 */
export function splitTabs(
  widths: readonly number[],
  active: number,
  available: number,
  moreWidth: number,
  needsMore = false,
): TabSplit {
  const all = widths.map((_, index) => index);
  if (fitsRow(widths, available, needsMore ? moreWidth : 0)) return { shown: all, overflow: [] };
  let free = available - moreWidth - (widths[active] ?? 0);
  let isFull = false;
  const shown = all.filter((index) => {
    if (index === active) return true;
    free -= widths[index] ?? 0;
    isFull ||= free < 0;
    return !isFull;
  });
  return { shown, overflow: all.filter((index) => !shown.includes(index)) };
}

/** Return whether items and a button of `moreWidth` px fit into a row. */
export function fitsRow(widths: readonly number[], available: number, moreWidth: number): boolean {
  return widths.reduce((sum, width) => sum + width, moreWidth) <= available;
}
