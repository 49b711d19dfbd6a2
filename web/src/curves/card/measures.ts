/** Sizes of the parts of a card, in pixels. */
const CARD_HEAD = 34;
const WIDE_HEIGHT = 420;
export const TABLE_HEIGHT = 148;

/** A chart that is pleasant to read is a little wider than it is high. */
const PROPORTION = 0.61;

export function cardHeight(width: number, isWide: boolean, hasTable: boolean): number {
  const usual = Math.round(CARD_HEAD + width * PROPORTION);
  return Math.max(usual, isWide ? WIDE_HEIGHT : 0) + (hasTable ? TABLE_HEIGHT : 0);
}
