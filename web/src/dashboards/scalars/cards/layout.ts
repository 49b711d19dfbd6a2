import type { Card } from './card';
import type { Section } from './sections';

/** Sizes in pixels. */
export interface Measures {
  readonly width: number;
  /** The narrowest that a card may be; cards share what is left of their row. */
  readonly cardWidth: number;
  readonly cardHeight: number;
  readonly wideHeight: number;
}

export interface PlacedSection {
  readonly key: string;
  readonly section: Section;
  readonly y: number;
  readonly height: number;
}

export interface PlacedCard {
  /** A card may stand twice on the page: where it belongs and where it is pinned. */
  readonly key: string;
  readonly card: Card;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  readonly sections: readonly PlacedSection[];
  /** From top to bottom. */
  readonly cards: readonly PlacedCard[];
  readonly height: number;
}

export const GAP = 12;
export const HEAD = 40;

/** Where everything stands. It is known without drawing, so that what is off the screen need not exist. */
export function layOut(
  sections: readonly Section[],
  folded: readonly string[],
  wide: readonly string[],
  measures: Measures,
): Layout {
  const heads: PlacedSection[] = [];
  const cards: PlacedCard[] = [];
  let y = 0;
  for (const section of sections) {
    heads.push({ key: section.key, section, y, height: HEAD });
    y += HEAD;
    if (!folded.includes(section.key)) y = placeCards(section, wide, measures, y, cards);
  }
  return { sections: heads, cards, height: y };
}

/** Adds the cards of a section to `placed` and says where the next section begins. */
function placeCards(
  section: Section,
  wide: readonly string[],
  measures: Measures,
  top: number,
  placed: PlacedCard[],
): number {
  const columns = countColumns(measures);
  const width = (measures.width - GAP * (columns - 1)) / columns;
  let y = top;
  let column = 0;
  const place = (card: Card, cardWidth: number, height: number): void => {
    const key = `${section.key}\n${card.id}`;
    placed.push({ key, card, x: column * (width + GAP), y, width: cardWidth, height });
  };
  for (const card of section.cards) {
    const isWide = wide.includes(card.id);
    if (column >= columns || (isWide && column > 0)) {
      y += measures.cardHeight + GAP;
      column = 0;
    }
    place(
      card,
      isWide ? measures.width : width,
      isWide ? measures.wideHeight : measures.cardHeight,
    );
    if (isWide) y += measures.wideHeight + GAP;
    else column++;
  }
  return column > 0 ? y + measures.cardHeight + GAP : y;
}

export function countColumns({ width, cardWidth }: Measures): number {
  return Math.max(1, Math.floor((width + GAP) / (cardWidth + GAP)));
}

/** Those of some things sorted by `y` that reach into a stretch of the page. */
export function within<Item extends { readonly y: number; readonly height: number }>(
  items: readonly Item[],
  top: number,
  bottom: number,
  tallest: number,
): readonly Item[] {
  const first = firstFrom(items, top - tallest);
  const end = firstFrom(items, bottom);
  return items.slice(first, end).filter(({ y, height }) => y + height > top);
}

/** The index of the first item at or below `y`. */
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
