import { expect, test } from 'vitest';

import { chooseViewportGrid, getMeshCardHeight } from './mesh-card-model.svelte';

test('viewports form a square, or a column in a narrow card', () => {
  expect(chooseViewportGrid(1, 400)).toEqual({ columns: 1, rows: 1 });
  expect(chooseViewportGrid(2, 400)).toEqual({ columns: 2, rows: 1 });
  expect(chooseViewportGrid(4, 400)).toEqual({ columns: 2, rows: 2 });
  expect(chooseViewportGrid(9, 400)).toEqual({ columns: 2, rows: 5 });
  expect(chooseViewportGrid(9, 1400)).toEqual({ columns: 3, rows: 3 });
  expect(chooseViewportGrid(3, 100)).toEqual({ columns: 1, rows: 3 });
  expect(chooseViewportGrid(0, 400)).toEqual({ columns: 1, rows: 1 });
});

test('the height of a card includes header, padding and slider', () => {
  expect(getMeshCardHeight(420, 1, false)).toBe(36 + 296 + 10);
  expect(getMeshCardHeight(420, 1, true)).toBe(36 + 296 + 10 + 36);
  expect(getMeshCardHeight(420, 1000, false)).toBe(900);
});
