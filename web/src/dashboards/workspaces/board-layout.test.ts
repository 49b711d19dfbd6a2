import { expect, test } from 'vitest';

import { createCard, createSection } from '../../cards/workspace/document';
import { GAP_PX, HEADING_PX, layoutBoard, toColumns } from './board-layout';

const card = (columns: number, height = 100) => createCard({ kind: 'scalars', columns, height });

test('cards fill rows of twelve columns', () => {
  const section = { ...createSection('A'), cards: [card(4), card(8, 300), card(6), card(12)] };
  const { cards } = layoutBoard([section], 1192);
  const rows = [HEADING_PX, HEADING_PX + 300 + GAP_PX, HEADING_PX + 400 + 2 * GAP_PX];
  expect(cards.map(({ x, y, width }) => [x, y, width])).toEqual([
    [0, rows[0], 392],
    [400, rows[0], 792],
    [0, rows[1], 592],
    [0, rows[2], 1192],
  ]);
});

test('narrow boards have one card per row', () => {
  const section = { ...createSection('A'), cards: [card(4), card(4)] };
  const { cards } = layoutBoard([section], 374);
  expect(cards.map(({ x, width }) => [x, width])).toEqual([
    [0, 374],
    [0, 374],
  ]);
});

test('collapsed sections have only a heading', () => {
  const one = { ...createSection('A'), collapsed: true, cards: [card(4)] };
  const { cards, sections } = layoutBoard([one, createSection('B')], 1000);
  expect([cards.length, sections[1]?.y]).toEqual([0, HEADING_PX]);
});

test('a card that is resized pushes the others', () => {
  const [first, second] = [card(6), card(6)];
  const section = { ...createSection('A'), cards: [first, second] };
  const resized = new Map([[first.id, { columns: 12, height: 200 }]]);
  const { cards } = layoutBoard([section], 1000, resized);
  expect(cards[1]?.y).toBe(HEADING_PX + 200 + GAP_PX);
});

test('a width is rounded to columns', () => {
  expect(toColumns(392, 1192)).toBe(4);
  expect(toColumns(450, 1192)).toBe(5);
  expect(toColumns(5, 1192)).toBe(2);
  expect(toColumns(5000, 1192)).toBe(12);
});
