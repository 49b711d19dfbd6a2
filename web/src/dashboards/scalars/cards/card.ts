import type { TagRow } from '../../../api/types';
import type { Card } from '../../../wall/card';

/** A card of curves, mostly of one tag. */
export interface ScalarCard extends Card {
  readonly tags: readonly string[];
  /** Those of the tags that the axis on the right is for. */
  readonly right: readonly string[];
  /** How the card is written in the address; null for the card of one tag. */
  readonly recipe: string | null;
}

/** A card that stands for one tag. */
export function cardOf(row: TagRow): ScalarCard {
  return {
    id: row.tag,
    title: row.display_name || row.tag,
    tags: [row.tag],
    right: [],
    description: row.description,
    recipe: null,
  };
}

/** Whether two cards show the same in the same way. */
export function isSameCard(one: ScalarCard, other: ScalarCard): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
