import * as common from '../catalog/common';
import type { TagRow } from '../api/schemas';
import { groupByPrefix } from '../lib/grouping';
import { compileTextFilter, type TextFilter } from '../lib/text-filter';
import type { Runs } from '../plugin/context';

export interface Card {
  /** Stable across visits: used in URLs and preferences. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
}

/** A card of a single tag. */
export interface TagCard extends Card {
  readonly row: TagRow;
  readonly tag: string;
}

export interface Section<C extends Card = Card> {
  readonly title: string;
  /**
   * Key of the collapsed state. Keys of special sections start with a space, which tag prefixes do
   * not.
   */
  readonly key: string;
  readonly cards: readonly C[];
}

/** A short text next to the title. */
export interface CardCaption {
  readonly text: string;
  /** The full text, as a tooltip. */
  readonly details?: string;
  /** Shown always, not only on hover. */
  readonly alwaysVisible?: boolean;
}

export function createTagCard(row: TagRow): TagCard {
  const { tag, display_name, description } = row;
  return { id: tag, title: display_name || tag, description, row, tag };
}

export interface SectionOptions<C extends Card> {
  readonly filter: TextFilter;
  readonly pinned: readonly string[];
  /** Sections between the pinned cards and the tag sections. */
  readonly extra?: readonly Section<C>[];
}

/** Build the sections: pinned cards, extra sections, then tags grouped by prefix. */
export function buildSections<C extends Card>(
  rows: readonly TagRow[],
  cardOf: (row: TagRow) => C,
  { filter, pinned, extra = [] }: SectionOptions<C>,
): Section<C>[] {
  const { matches } = compileTextFilter(filter);
  const found = rows.filter(({ tag, display_name }) => matches(tag) || matches(display_name));
  const single = groupByPrefix(found).map(({ title, items }) => ({
    title: title || common.ungrouped,
    key: title,
    cards: items.map(cardOf),
  }));
  const cards = findPinned(pinned, rows, cardOf, extra);
  const sections = [{ title: common.pinned, key: ' pinned', cards }, ...extra, ...single];
  return sections.filter(({ cards }) => cards.length > 0);
}

/**
 * Return the pinned cards in the order in which they were pinned. Cards without data are left out
 * but stay pinned.
 */
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

export function rowsWithTags(rows: readonly TagRow[], tags: readonly string[]): readonly TagRow[] {
  const names = new Set(tags);
  return rows.filter(({ tag }) => names.has(tag));
}

/** Return the names of the visible runs for requests; null means all runs. */
export function requestedRuns({ visible, totals }: Runs): readonly string[] | null {
  return visible.length === totals.runs ? null : visible.map(({ name }) => name);
}
