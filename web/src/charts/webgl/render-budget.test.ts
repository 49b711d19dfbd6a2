import { expect, test } from 'vitest';

import { RenderBudget } from './render-budget';

test('a GPU draws a million points at once from the start', () => {
  expect(new RenderBudget(false).maxElements(true)).toBeGreaterThan(1_000_000);
});

test('slow drawing is split into smaller batches', () => {
  const pace = new RenderBudget(true);
  for (let turn = 0; turn < 20; turn++) pace.recordCost(200_000, 50);
  const most = pace.maxElements(true);
  expect(most).toBeGreaterThan(70_000);
  expect(most).toBeLessThan(110_000);
  expect(pace.maxElements(false)).toBeGreaterThan(most);
  expect(pace.maxElements(true, 0.5)).toBeLessThan(most);
});

test('the budget shrinks quickly and never reaches zero', () => {
  const pace = new RenderBudget(false);
  pace.recordCost(1_000_000, 1000);
  expect(pace.maxElements(true)).toBeLessThan(100_000);
  for (let turn = 0; turn < 50; turn++) pace.recordCost(50_000, 10_000);
  expect(pace.maxElements(true)).toBe(40_000);
});

test('small batches do not change the estimate', () => {
  const pace = new RenderBudget(false);
  pace.recordCost(10, 1000);
  expect(pace.maxElements(true)).toBeGreaterThan(1_000_000);
});
