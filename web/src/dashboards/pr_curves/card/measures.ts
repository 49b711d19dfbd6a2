/** Sizes of the parts of a card, in pixels. */
const CARD_HEAD = 34;
const LEGEND_ROW = 19;
/** Names beyond these are scrolled to. */
const MOST_ROWS = 4;
const SLIDER_HEIGHT = 34;
const WIDE_CHART = 420;
export const LEGEND_HEIGHT = MOST_ROWS * LEGEND_ROW;
export const HISTORY_HEIGHT = 92;
export const TABLE_HEIGHT = 132;

/** Both axes go from 0 to 1, so a chart is nearly a square. */
const PROPORTION = 0.74;

export interface CardParts {
  readonly isWide: boolean;
  readonly hasTable: boolean;
  readonly hasHistory: boolean;
  readonly hasSlider: boolean;
  /** How many curves there may be. */
  readonly curves: number;
}

export function cardHeight(width: number, parts: CardParts): number {
  const chart = parts.isWide ? WIDE_CHART : Math.round(width * PROPORTION);
  const rows = Math.min(MOST_ROWS, Math.max(1, parts.curves));
  return (
    CARD_HEAD +
    rows * LEGEND_ROW +
    chart +
    (parts.hasSlider ? SLIDER_HEIGHT : 0) +
    (parts.hasHistory ? HISTORY_HEIGHT : 0) +
    (parts.hasTable ? TABLE_HEIGHT : 0)
  );
}
