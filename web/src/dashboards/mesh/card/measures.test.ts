import { expect, test } from 'vitest';

import { cardHeight, gridOf } from './measures';

test('pictures share a card as a square, and a narrow one as a column', () => {
  expect(gridOf(1, 400)).toEqual({ columns: 1, rows: 1 });
  expect(gridOf(2, 400)).toEqual({ columns: 2, rows: 1 });
  expect(gridOf(4, 400)).toEqual({ columns: 2, rows: 2 });
  expect(gridOf(9, 400)).toEqual({ columns: 2, rows: 5 });
  expect(gridOf(9, 1400)).toEqual({ columns: 3, rows: 3 });
  expect(gridOf(3, 100)).toEqual({ columns: 1, rows: 3 });
  expect(gridOf(0, 400)).toEqual({ columns: 1, rows: 1 });
});

test('a card is as high as its pictures and what is around them', () => {
  expect(cardHeight(420, 1, false)).toBe(36 + 296 + 10);
  expect(cardHeight(420, 1, true)).toBe(36 + 296 + 10 + 36);
  expect(cardHeight(420, 1000, false)).toBe(900);
});
