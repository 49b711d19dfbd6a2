/** Sizes of the parts of a card, in pixels. */
export const CARD_HEAD = 34;
export const TABLE_HEIGHT = 148;

/** A chart that is pleasant to read is a little wider than it is high. */
const PROPORTION = 0.61;

export function cardHeight(width: number): number {
  return Math.round(CARD_HEAD + width * PROPORTION);
}
