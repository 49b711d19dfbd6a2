import { expect, test } from 'vitest';

import { RenderBudget } from './render-budget';

test('a graphics card draws a million points at once from the start', () => {
  expect(new RenderBudget(false).maxElements(true)).toBeGreaterThan(1_000_000);
});

test('what takes long is drawn in smaller parts', () => {
  const pace = new RenderBudget(true);
  for (let turn = 0; turn < 20; turn++) pace.recordCost(200_000, 50);
  const most = pace.maxElements(true);
  expect(most).toBeGreaterThan(70_000);
  expect(most).toBeLessThan(110_000);
  expect(pace.maxElements(false)).toBeGreaterThan(most);
  expect(pace.maxElements(true, 0.5)).toBeLessThan(most);
});

test('it is quick to slow down, and never stops', () => {
  const pace = new RenderBudget(false);
  pace.recordCost(1_000_000, 1000);
  expect(pace.maxElements(true)).toBeLessThan(100_000);
  for (let turn = 0; turn < 50; turn++) pace.recordCost(50_000, 10_000);
  expect(pace.maxElements(true)).toBe(40_000);
});

test('few elements tell nothing', () => {
  const pace = new RenderBudget(false);
  pace.recordCost(10, 1000);
  expect(pace.maxElements(true)).toBeGreaterThan(1_000_000);
});
