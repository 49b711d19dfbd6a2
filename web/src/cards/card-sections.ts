import type { TagRow } from '../api/schemas';
import { groupByPrefix } from '../lib/grouping';
import { compileTextFilter, type TextFilter } from '../lib/text-filter';
import type { Runs } from '../plugin/context';

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
export interface CardCaption {
  readonly text: string;
  /** The whole of it, for who points at it. */
  readonly details?: string;
  /** True where it is not for who looks closely only. */
  readonly alwaysVisible?: boolean;
}

export function createTagCard(row: TagRow): TagCard {
  const { tag, display_name, description } = row;
  return { id: tag, title: display_name || tag, description, row, tag };
}

export interface SectionOptions<C extends Card> {
  readonly filter: TextFilter;
  readonly pinned: readonly string[];
  /** Sections that stand between the pinned cards and those of the tags. */
  readonly extra?: readonly Section<C>[];
}

/** Pinned cards, whatever else there is, then the cards of single tags by the prefix of the tag. */
export function buildSections<C extends Card>(
  rows: readonly TagRow[],
  cardOf: (row: TagRow) => C,
  { filter, pinned, extra = [] }: SectionOptions<C>,
): Section<C>[] {
  const { matches } = compileTextFilter(filter);
  const found = rows.filter(({ tag, display_name }) => matches(tag) || matches(display_name));
  const single = groupByPrefix(found).map(({ title, items }) => ({
    title: title || 'no prefix',
    key: title,
    cards: items.map(cardOf),
  }));
  const cards = findPinned(pinned, rows, cardOf, extra);
  const sections = [{ title: 'Pinned', key: ' pinned', cards }, ...extra, ...single];
  return sections.filter(({ cards }) => cards.length > 0);
}

/** In the order in which they were pinned; one whose tag is gone comes back with its tag. */
function findPinned<C extends Card>(
  ids: readonly string[],
  rows: readonly TagRow[],
  cardOf: (row: TagRow) => C,
  extra: readonly Section<C>[],
): C[] {
  if (ids.length === 0) return [];
  const cards = new Map(extra.flatMap(({ cards }) => cards).map((card) => [card.id, card]));
  for (const row of rows) if (ids.includes(row.tag)) cards.set(row.tag, cardOf(row));
  return ids.flatMap((id) => cards.get(id) ?? []);
}

/** The rows of some tags. */
export function rowsWithTags(rows: readonly TagRow[], tags: readonly string[]): readonly TagRow[] {
  const names = new Set(tags);
  return rows.filter(({ tag }) => names.has(tag));
}

/** The names of the runs that are shown, as the server is asked for them; null stands for all. */
export function requestedRuns({ visible, all }: Runs): readonly string[] | null {
  return visible.length === all.length ? null : visible.map(({ name }) => name);
}
