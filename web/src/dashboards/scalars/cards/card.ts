import type { TagRow } from '../../../api/types';

/** What one card shows. */
export interface Card {
  /** The tag, or what the combined card is made of; the same in every visit. */
  readonly id: string;
  readonly title: string;
  readonly tags: readonly string[];
  /** Those of the tags that the axis on the right is for. */
  readonly right: readonly string[];
  readonly description: string;
  /** How the card is written in the address; null for the card of one tag. */
  readonly recipe: string | null;
}

/** A card that stands for one tag. */
export function cardOf(row: TagRow): Card {
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
export function isSameCard(one: Card, other: Card): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
