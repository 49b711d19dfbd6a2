import type { TagRow } from '../api/types';
import { compileFilter, type Filter } from '../base/filter';
import { groupByPrefix } from '../base/section';
import type { Card, Section } from './card';

export interface Wanted<C extends Card> {
  readonly filter: Filter;
  readonly pinned: readonly string[];
  /** Sections that stand between the pinned cards and those of the tags. */
  readonly extra?: readonly Section<C>[];
}

/** Pinned cards, whatever else there is, then the cards of single tags by the prefix of the tag. */
export function buildSections<C extends Card>(
  rows: readonly TagRow[],
  cardOf: (row: TagRow) => C,
  { filter, pinned, extra = [] }: Wanted<C>,
): Section<C>[] {
  const { matches } = compileFilter(filter);
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
export function pickRows(rows: readonly TagRow[], tags: readonly string[]): readonly TagRow[] {
  const names = new Set(tags);
  return rows.filter(({ tag }) => names.has(tag));
}
