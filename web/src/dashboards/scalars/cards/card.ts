import type { TagRow } from '../../../api/types';
import type { CurveCard } from '../../../curves/card';

/** A card of one tag, or of several that somebody put together. */
export interface ScalarCard extends CurveCard {
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
    margins: [],
    description: row.description,
    recipe: null,
  };
}
