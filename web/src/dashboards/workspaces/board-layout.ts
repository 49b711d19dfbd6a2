/** Positions of the cards of a workspace. */
import { BOARD_COLUMNS, type BoardCard, type BoardSection } from '../../cards/workspace/document';

export const HEADING_PX = 40;
export const GAP_PX = 8;
/** Height of the place for the first card of an empty section. */
const EMPTY_SECTION_PX = 64;
/** Narrower boards show one card per row. */
const MIN_BOARD_PX = 560;

export interface PlacedSection {
  readonly key: string;
  readonly section: BoardSection;
  readonly y: number;
  /** With its heading. */
  readonly height: number;
}

export interface PlacedCard {
  readonly key: string;
  readonly card: BoardCard;
  readonly section: BoardSection;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface BoardLayout {
  readonly sections: readonly PlacedSection[];
  readonly cards: readonly PlacedCard[];
  readonly height: number;
  /** Height of the highest card. */
  readonly tallest: number;
}

/** The size of a card while it is dragged. */
export type Resized = ReadonlyMap<string, Pick<BoardCard, 'columns' | 'height'>>;

/** Place the cards in rows, from left to right; all cards of a row start at its top. */
export function layoutBoard(
  sections: readonly BoardSection[],
  width: number,
  resized: Resized = new Map(),
): BoardLayout {
  const placedSections: PlacedSection[] = [];
  const cards: PlacedCard[] = [];
  let y = 0;
  for (const section of sections) {
    const top = y;
    y += HEADING_PX;
    if (!section.collapsed) y = placeCards(section, width, resized, y, cards);
    placedSections.push({ key: section.id, section, y: top, height: y - top });
  }
  const tallest = cards.reduce((most, { height }) => Math.max(most, height), 0);
  return { sections: placedSections, cards, height: y, tallest };
}

/** Add the cards of a section to `placed` and return the y of what follows. */
function placeCards(
  section: BoardSection,
  width: number,
  resized: Resized,
  top: number,
  placed: PlacedCard[],
): number {
  if (section.cards.length === 0) return top + EMPTY_SECTION_PX;
  let [column, y, rowHeight] = [0, top, 0];
  for (const card of section.cards) {
    const { columns, height } = resized.get(card.id) ?? card;
    const span = width < MIN_BOARD_PX ? BOARD_COLUMNS : Math.min(columns, BOARD_COLUMNS);
    if (column + span > BOARD_COLUMNS) [column, y, rowHeight] = [0, y + rowHeight + GAP_PX, 0];
    placed.push({
      key: card.id,
      card,
      section,
      x: column * getColumnPitch(width),
      y,
      width: getSpanWidth(span, width),
      height,
    });
    column += span;
    rowHeight = Math.max(rowHeight, height);
  }
  return y + rowHeight + GAP_PX;
}

/** Return the distance between the left edges of two columns. */
export function getColumnPitch(width: number): number {
  return (width + GAP_PX) / BOARD_COLUMNS;
}

function getSpanWidth(span: number, width: number): number {
  return span * getColumnPitch(width) - GAP_PX;
}

/** Return how many columns a card of some width spans, at least `smallest`. */
export function toColumns(cardWidth: number, boardWidth: number, smallest = 2): number {
  const span = Math.round((cardWidth + GAP_PX) / getColumnPitch(boardWidth));
  return Math.min(BOARD_COLUMNS, Math.max(smallest, span));
}
