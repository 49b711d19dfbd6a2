import { expect, test } from 'vitest';

import type { Card } from './card';
import { GAP, HEAD, layOut, within } from './layout';

const MEASURES = {
  width: 1000,
  cardWidth: 300,
  heightOf: (_: number, __: Card | null, isWide: boolean): number => (isWide ? 400 : 200),
};

const card = (id: string): Card => ({ id, title: id, description: '' });
const section = (title: string, ...ids: string[]) => ({ title, key: title, cards: ids.map(card) });

test('cards share the width of their row', () => {
  const { cards, height } = layOut([section('s', 'a', 'b', 'c', 'd')], [], [], MEASURES);
  const width = (1000 - 2 * GAP) / 3;
  expect(cards.map(({ x, y }) => [x, y])).toEqual([
    [0, HEAD],
    [width + GAP, HEAD],
    [2 * (width + GAP), HEAD],
    [0, HEAD + 200 + GAP],
  ]);
  expect(cards[0]?.width).toBe(width);
  expect(height).toBe(HEAD + 2 * (200 + GAP));
});

test('a folded section is only its head', () => {
  const { cards, sections, height } = layOut(
    [section('one', 'a'), section('two', 'b')],
    ['one'],
    [],
    MEASURES,
  );
  expect(cards.map(({ card }) => card.id)).toEqual(['b']);
  expect(sections.map(({ y }) => y)).toEqual([0, HEAD]);
  expect(height).toBe(2 * HEAD + 200 + GAP);
});

test('a wide card has a row of its own', () => {
  const { cards } = layOut([section('s', 'a', 'b', 'c')], [], ['b'], MEASURES);
  expect(cards.map(({ x, y, width }) => [x, y, Math.round(width)])).toEqual([
    [0, HEAD, 325],
    [0, HEAD + 200 + GAP, 1000],
    [0, HEAD + 200 + 2 * GAP + 400, 325],
  ]);
});

test('a row is as high as its highest card', () => {
  const heightOf = (_: number, card: Card | null): number => (card?.id === 'b' ? 350 : 200);
  const sections = [section('s', 'a', 'b', 'c', 'd')];
  const { cards, tallest } = layOut(sections, [], [], { ...MEASURES, heightOf });
  expect(cards.map(({ height }) => height)).toEqual([350, 350, 350, 200]);
  expect(cards[3]?.y).toBe(HEAD + 350 + GAP);
  expect(tallest).toBe(350);
});

test('a narrow page has one column', () => {
  const { cards } = layOut([section('s', 'a', 'b')], [], [], { ...MEASURES, width: 280 });
  expect(cards.map(({ x, width }) => [x, width])).toEqual([
    [0, 280],
    [0, 280],
  ]);
});

test('only what reaches into the stretch is found among many', () => {
  const ids = Array.from({ length: 12_345 }, (_, at) => String(at));
  const { cards, height } = layOut([section('s', ...ids)], [], [], MEASURES);
  const found = within(cards, height / 2, height / 2 + 600, 400);
  expect(found.length).toBeGreaterThan(8);
  expect(found.length).toBeLessThan(16);
  for (const { y, height: tall } of found) expect(y + tall).toBeGreaterThan(height / 2);
});
