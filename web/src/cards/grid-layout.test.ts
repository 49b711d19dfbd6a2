import { expect, test } from 'vitest';

import type { Card } from './card-sections';
import { CARD_GAP_PX, SECTION_HEADING_PX, layoutGrid, itemsInViewport } from './grid-layout';

const MEASURES = {
  width: 1000,
  cardWidth: 300,
  heightOf: (_: number, __: Card | null, isWide: boolean): number => (isWide ? 400 : 200),
};

const card = (id: string): Card => ({ id, title: id, description: '' });
const section = (title: string, ...ids: string[]) => ({ title, key: title, cards: ids.map(card) });

test('cards of a row share its width', () => {
  const { cards, height } = layoutGrid([section('s', 'a', 'b', 'c', 'd')], [], [], MEASURES);
  const width = (1000 - 2 * CARD_GAP_PX) / 3;
  expect(cards.map(({ x, y }) => [x, y])).toEqual([
    [0, SECTION_HEADING_PX],
    [width + CARD_GAP_PX, SECTION_HEADING_PX],
    [2 * (width + CARD_GAP_PX), SECTION_HEADING_PX],
    [0, SECTION_HEADING_PX + 200 + CARD_GAP_PX],
  ]);
  expect(cards[0]?.width).toBe(width);
  expect(height).toBe(SECTION_HEADING_PX + 2 * (200 + CARD_GAP_PX));
});

test('a collapsed section has only its heading', () => {
  const { cards, sections, height } = layoutGrid(
    [section('one', 'a'), section('two', 'b')],
    ['one'],
    [],
    MEASURES,
  );
  expect(cards.map(({ card }) => card.id)).toEqual(['b']);
  expect(sections.map(({ y }) => y)).toEqual([0, SECTION_HEADING_PX]);
  expect(height).toBe(2 * SECTION_HEADING_PX + 200 + CARD_GAP_PX);
});

test('a wide card has a row of its own', () => {
  const { cards } = layoutGrid([section('s', 'a', 'b', 'c')], [], ['b'], MEASURES);
  expect(cards.map(({ x, y, width }) => [x, y, Math.round(width)])).toEqual([
    [0, SECTION_HEADING_PX, 325],
    [0, SECTION_HEADING_PX + 200 + CARD_GAP_PX, 1000],
    [0, SECTION_HEADING_PX + 200 + 2 * CARD_GAP_PX + 400, 325],
  ]);
});

test('a row is as high as its tallest card', () => {
  const heightOf = (_: number, card: Card | null): number => (card?.id === 'b' ? 350 : 200);
  const sections = [section('s', 'a', 'b', 'c', 'd')];
  const { cards, tallest } = layoutGrid(sections, [], [], { ...MEASURES, heightOf });
  expect(cards.map(({ height }) => height)).toEqual([350, 350, 350, 200]);
  expect(cards[3]?.y).toBe(SECTION_HEADING_PX + 350 + CARD_GAP_PX);
  expect(tallest).toBe(350);
});

test('a narrow page has one column', () => {
  const { cards } = layoutGrid([section('s', 'a', 'b')], [], [], { ...MEASURES, width: 280 });
  expect(cards.map(({ x, width }) => [x, width])).toEqual([
    [0, 280],
    [0, 280],
  ]);
});

test('items in the viewport are found among many', () => {
  const ids = Array.from({ length: 12_345 }, (_, at) => String(at));
  const { cards, height } = layoutGrid([section('s', ...ids)], [], [], MEASURES);
  const found = itemsInViewport(cards, height / 2, height / 2 + 600, 400);
  expect(found.length).toBeGreaterThan(8);
  expect(found.length).toBeLessThan(16);
  for (const { y, height: tall } of found) expect(y + tall).toBeGreaterThan(height / 2);
});
