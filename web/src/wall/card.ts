import type { TagRow } from '../api/types';

/** What one place on a wall shows. */
export interface Card {
  /** The same in every visit: folds, pins and links name it. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
}

/** A card that stands for one tag. */
export interface TagCard extends Card {
  readonly row: TagRow;
  readonly tag: string;
}

export interface Section<C extends Card = Card> {
  readonly title: string;
  /** What folding remembers it by; no prefix of a tag has a space before it. */
  readonly key: string;
  readonly cards: readonly C[];
}

/** What is said of a card beside its title. */
export interface CardNote {
  readonly text: string;
  /** The whole of it, for who points at it. */
  readonly inFull?: string;
  /** True where it is not for who looks closely only. */
  readonly always?: boolean;
}

export function tagCardOf(row: TagRow): TagCard {
  const { tag, display_name, description } = row;
  return { id: tag, title: display_name || tag, description, row, tag };
}
