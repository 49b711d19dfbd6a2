import type { Card } from '../wall/card';

/** Three tags: a line, and the lower and upper edge of the band around it. */
export interface Margin {
  readonly value: string;
  readonly lower: string;
  readonly upper: string;
}

/** A card of curves. */
export interface CurveCard extends Card {
  readonly tags: readonly string[];
  /** Those of the tags that the axis on the right is for. */
  readonly right: readonly string[];
  /** With any, these bands are drawn in place of a line for each tag. */
  readonly margins: readonly Margin[];
}

/** Whether two cards show the same in the same way. */
export function isSameCard(one: CurveCard, other: CurveCard): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
