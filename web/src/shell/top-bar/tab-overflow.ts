/** The tabs that fit into a row beside a "More" button, and those that move into its menu. */
export interface TabSplit {
  readonly shown: readonly number[];
  readonly overflow: readonly number[];
}

/**
 * Split tabs by the room there is. The active tab is always shown; the others are shown in order
 * for as long as they fit.
 *
 * @param widths Width of each tab in px.
 * @param active Index of the active tab, or -1.
 * @param available Width of the row in px.
 * @param moreWidth Width of the "More" button in px.
 * @param needsMore Whether the button is shown even if all tabs fit.
 */
export function splitTabs(
  widths: readonly number[],
  active: number,
  available: number,
  moreWidth: number,
  needsMore = false,
): TabSplit {
  const all = widths.map((_, index) => index);
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total + (needsMore ? moreWidth : 0) <= available) return { shown: all, overflow: [] };
  let room = available - moreWidth - (widths[active] ?? 0);
  let isFull = false;
  const shown = all.filter((index) => {
    if (index === active) return true;
    room -= widths[index] ?? 0;
    isFull ||= room < 0;
    return !isFull;
  });
  return { shown, overflow: all.filter((index) => !shown.includes(index)) };
}
