import type { TagRow } from '../../../api/types';
import { compileFilter, type Filter } from '../../../base/filter';
import { groupByPrefix } from '../../../base/section';
import { type Card, cardOf } from './card';
import { readCombined } from './combined';

export interface Section {
  readonly title: string;
  /** What folding remembers it by; no prefix of a tag has a space before it. */
  readonly key: string;
  readonly cards: readonly Card[];
}

export interface Wanted {
  readonly filter: Filter;
  readonly pinned: readonly string[];
  readonly combined: readonly string[];
}

/** Pinned cards, combined cards, then those of single tags by the prefix of the tag. */
export function buildSections(rows: readonly TagRow[], wanted: Wanted): Section[] {
  const { matches } = compileFilter(wanted.filter);
  const names = rows.map(({ tag }) => tag);
  const combined = wanted.combined.map((recipe) => readCombined(recipe, names));
  const found = rows.filter(({ tag, display_name }) => matches(tag) || matches(display_name));
  const single = groupByPrefix(found).map(({ title, items }) => ({
    title: title || 'no prefix',
    key: title,
    cards: items.map(cardOf),
  }));
  const pinned = findPinned(rows, combined, wanted.pinned);
  return [
    { title: 'Pinned', key: ' pinned', cards: pinned },
    { title: 'Combined', key: ' combined', cards: combined },
    ...single,
  ].filter(({ cards }) => cards.length > 0);
}

/** In the order in which they were pinned; one whose tag is gone comes back with its tag. */
function findPinned(
  rows: readonly TagRow[],
  combined: readonly Card[],
  ids: readonly string[],
): Card[] {
  if (ids.length === 0) return [];
  const cards = new Map(combined.map((card) => [card.id, card]));
  for (const row of rows) if (ids.includes(row.tag)) cards.set(row.tag, cardOf(row));
  return ids.flatMap((id) => cards.get(id) ?? []);
}
