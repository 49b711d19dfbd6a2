import type { Card } from '../cards/card-sections';

/** Three tags: a line, and the lower and upper edge of the band around it. */
export interface MarginTags {
  readonly value: string;
  readonly lower: string;
  readonly upper: string;
}

/** A card of curves. */
export interface ScalarCard extends Card {
  readonly tags: readonly string[];
  /** Those of the tags that the axis on the right is for. */
  readonly right: readonly string[];
  /** With any, these bands are drawn in place of a line for each tag. */
  readonly margins: readonly MarginTags[];
}

/** Whether two cards show the same in the same way. */
export function equalCards(one: ScalarCard, other: ScalarCard): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Sizes of the parts of a card, in pixels. */
const CARD_HEADER_PX = 34;
const WIDE_CARD_PX = 420;
export const VALUE_TABLE_PX = 148;

/** A chart that is pleasant to read is a little wider than it is high. */
const ASPECT_RATIO = 0.61;

export function cardHeight(width: number, isWide: boolean, hasTable: boolean): number {
  const usual = Math.round(CARD_HEADER_PX + width * ASPECT_RATIO);
  return Math.max(usual, isWide ? WIDE_CARD_PX : 0) + (hasTable ? VALUE_TABLE_PX : 0);
}
