/** Heights in pixels of what is above and below the pictures. */
const HEAD = 36;
const SLIDER = 36;
const TALLEST = 900;
const GAP = 6;
const PADDING = 10;
/** The height of a picture, by its width. */
const PROPORTION = 0.74;
/** Narrower pictures show nothing. */
const NARROWEST = 150;

/** More runs are not drawn in one card. */
export const MOST_RUNS = { card: 9, full: 25 };

export interface Grid {
  readonly columns: number;
  readonly rows: number;
}

/** How so many pictures share a width: as square as they can, as long as each is wide enough. */
export function gridOf(count: number, width: number): Grid {
  const fitting = Math.max(1, Math.floor((width + GAP) / (NARROWEST + GAP)));
  const columns = Math.max(1, Math.min(fitting, Math.ceil(Math.sqrt(count))));
  return { columns, rows: Math.max(1, Math.ceil(count / columns)) };
}

/** How high a card of so many pictures is. */
export function cardHeight(width: number, count: number, hasSlider: boolean): number {
  const inside = width - 2 * PADDING;
  const { columns, rows } = gridOf(count, inside);
  const each = ((inside - GAP * (columns - 1)) / columns) * PROPORTION;
  const pictures = Math.round(rows * each + GAP * (rows - 1));
  return Math.min(TALLEST, HEAD + pictures + PADDING + (hasSlider ? SLIDER : 0));
}
