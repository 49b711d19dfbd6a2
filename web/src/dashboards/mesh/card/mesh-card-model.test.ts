import { expect, test } from 'vitest';

import { chooseViewportGrid, getMeshCardHeight, makeMeshCardNote } from './mesh-card-model.svelte';

test('pictures share a card as a square, and a narrow one as a column', () => {
  expect(chooseViewportGrid(1, 400)).toEqual({ columns: 1, rows: 1 });
  expect(chooseViewportGrid(2, 400)).toEqual({ columns: 2, rows: 1 });
  expect(chooseViewportGrid(4, 400)).toEqual({ columns: 2, rows: 2 });
  expect(chooseViewportGrid(9, 400)).toEqual({ columns: 2, rows: 5 });
  expect(chooseViewportGrid(9, 1400)).toEqual({ columns: 3, rows: 3 });
  expect(chooseViewportGrid(3, 100)).toEqual({ columns: 1, rows: 3 });
  expect(chooseViewportGrid(0, 400)).toEqual({ columns: 1, rows: 1 });
});

test('a card is as high as its pictures and what is around them', () => {
  expect(getMeshCardHeight(420, 1, false)).toBe(36 + 296 + 10);
  expect(getMeshCardHeight(420, 1, true)).toBe(36 + 296 + 10 + 36);
  expect(getMeshCardHeight(420, 1000, false)).toBe(900);
});

const row = { count: 100, overwritten: 10 };
const steps = Float64Array.of(0, 5, 1000);

test('what is not shown is told first', () => {
  expect(makeMeshCardNote(row, steps, { runsLeft: 0, isCopy: false })).toEqual({
    text: '3 steps, the last is 1,000',
  });
  expect(makeMeshCardNote(row, steps, { runsLeft: 3, isCopy: false }).text).toBe('and 3 more runs');
  expect(makeMeshCardNote(row, steps, { runsLeft: 0, isCopy: true }).text).toBe(
    '3 of 90 steps in this copy',
  );
  expect(makeMeshCardNote(row, new Float64Array(), { runsLeft: 0, isCopy: true }).text).toBe('');
});
