import { ServerError } from '../api/errors';
import type { Batch } from '../api/query-definition';
import type { ChartsRequest, Problem, TagRow } from '../api/schemas';
import * as common from '../catalog/common';
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

export function findRowsWithTags(
  rows: readonly TagRow[],
  tags: readonly string[],
): readonly TagRow[] {
  const names = new Set(tags);
  return rows.filter(({ tag }) => names.has(tag));
}

/** Return the names of the visible runs for requests; null means all runs. */
export function requestedRuns({ visible, totals }: Runs): readonly string[] | null {
  return visible.length === totals.runs ? null : visible.map(({ name }) => name);
}

/** Sizes in pixels. */
export interface GridMetrics<C extends Card = Card> {
  readonly width: number;
  /** Minimum card width; cards of a row share the remaining space. */
  readonly cardWidth: number;
  /** Height of a card in a column of a given width, or at full width; null is a placeholder. */
  readonly heightOf: (columnWidth: number, card: C | null, isWide: boolean) => number;
}

export interface PlacedSection<C extends Card = Card> {
  readonly key: string;
  readonly section: Section<C>;
  readonly y: number;
  readonly height: number;
}

export interface PlacedCard<C extends Card = Card> {
  /** Unique per position: a pinned card is shown twice. */
  readonly key: string;
  readonly card: C;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface GridLayout<C extends Card = Card> {
  readonly sections: readonly PlacedSection<C>[];
  /** Sorted by y. */
  readonly cards: readonly PlacedCard<C>[];
  readonly tallest: number;
  readonly height: number;
}

export const CARD_GAP_PX = 12;
export const SECTION_HEADING_PX = 40;

/** Return the positions of all sections and cards, computed without rendering them. */
export function layoutGrid<C extends Card>(
  sections: readonly Section<C>[],
  folded: readonly string[],
  wide: readonly string[],
  measures: GridMetrics<C>,
): GridLayout<C> {
  const heads: PlacedSection<C>[] = [];
  const cards: PlacedCard<C>[] = [];
  let y = 0;
  for (const section of sections) {
    heads.push({ key: section.key, section, y, height: SECTION_HEADING_PX });
    y += SECTION_HEADING_PX;
    if (!folded.includes(section.key)) y = placeCards(section, wide, measures, y, cards);
  }
  const tallest = cards.reduce((most, { height }) => Math.max(most, height), 0);
  return { sections: heads, cards, tallest, height: y };
}

/** Add the cards of a section to `placed` and return the y of the next section. */
function placeCards<C extends Card>(
  section: Section<C>,
  wide: readonly string[],
  measures: GridMetrics<C>,
  top: number,
  placed: PlacedCard<C>[],
): number {
  const columns = countColumns(measures);
  const column = (measures.width - CARD_GAP_PX * (columns - 1)) / columns;
  let y = top;
  for (const row of splitRows(section.cards, wide, columns)) {
    const isWide = row.length === 1 && wide.includes(row[0]?.id ?? '');
    // All cards of a row have the height of the tallest one.
    const height = Math.max(...row.map((card) => measures.heightOf(column, card, isWide)));
    const width = isWide ? measures.width : column;
    row.forEach((card, at) => {
      const key = `${section.key}\n${card.id}`;
      placed.push({ key, card, x: at * (column + CARD_GAP_PX), y, width, height });
    });
    y += height + CARD_GAP_PX;
  }
  return y;
}

/** Split cards into rows; a full-width card has its own row. */
function splitRows<C extends Card>(
  cards: readonly C[],
  wide: readonly string[],
  columns: number,
): C[][] {
  const rows: C[][] = [];
  let isFull = true;
  for (const card of cards) {
    const isWide = wide.includes(card.id);
    const row = rows.at(-1);
    if (row && !isFull && !isWide) row.push(card);
    else rows.push([card]);
    isFull = isWide || (rows.at(-1)?.length ?? 0) >= columns;
  }
  return rows;
}

export function countColumns({
  width,
  cardWidth,
}: Pick<GridMetrics, 'width' | 'cardWidth'>): number {
  return Math.max(1, Math.floor((width + CARD_GAP_PX) / (cardWidth + CARD_GAP_PX)));
}

/** Return the items that overlap the viewport; `items` are sorted by `y`. */
export function listItemsInViewport<Item extends { readonly y: number; readonly height: number }>(
  items: readonly Item[],
  top: number,
  bottom: number,
  tallest: number,
): readonly Item[] {
  const first = firstFrom(items, top - tallest);
  const end = firstFrom(items, bottom);
  return items.slice(first, end).filter(({ y, height }) => y + height > top);
}

/** Return the index of the first item at or below `y`. */
function firstFrom(items: readonly { readonly y: number }[], y: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.y ?? Infinity) < y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A request of a card for one tag; `view` has the fields that all tags of a dashboard share. */
export interface TagRequest<View extends object> {
  readonly view: View;
  readonly tag: string;
}

/** Combine requests for tags; `getRows` returns the rows of a response. */
export function batchTags<View extends object, Response, Row extends { readonly tag: string }>(
  maxItems: number,
  getRows: (response: Response) => readonly Row[],
): Batch<TagRequest<View>, View & { readonly tags: readonly string[] }, Response, readonly Row[]> {
  return {
    shared: ({ view }) => view,
    item: ({ tag }) => tag,
    maxItems,
    join: (requests) => ({
      ...(requests as readonly [TagRequest<View>])[0].view,
      tags: requests.map(({ tag }) => tag),
    }),
    split: (response, requests) =>
      requests.map(({ tag }) => getRows(response).filter((row) => row.tag === tag)),
  };
}

/** The status of an error that affects one chart of a response. */
export const CHART_ERROR_STATUS = 200;

/** The fields of a request that all charts of a view share. */
export type ChartsView = Required<Omit<ChartsRequest, 'width' | 'charts'>>;

/** Number the charts of a request. */
export function joinCharts<Chart extends object>(
  requests: readonly { readonly chart: Chart }[],
): (Chart & { readonly id: string })[] {
  return requests.map(({ chart }, index) => ({ ...chart, id: String(index) }));
}

/** Return the charts of a response or why they failed. */
export function splitCharts<Row extends { readonly error: Problem | null }>(response: {
  readonly charts: readonly Row[];
}): (Row | ServerError)[] {
  return response.charts.map((row) =>
    row.error ? new ServerError(row.error, CHART_ERROR_STATUS) : row,
  );
}
