import { expect, test } from 'vitest';

import { DrawingPace } from './pace';

test('a graphics card draws a million points at once from the start', () => {
  expect(new DrawingPace(false).most(true)).toBeGreaterThan(1_000_000);
});

test('what takes long is drawn in smaller parts', () => {
  const pace = new DrawingPace(true);
  for (let turn = 0; turn < 20; turn++) pace.learn(200_000, 50);
  const most = pace.most(true);
  expect(most).toBeGreaterThan(70_000);
  expect(most).toBeLessThan(110_000);
  expect(pace.most(false)).toBeGreaterThan(most);
  expect(pace.most(true, 0.5)).toBeLessThan(most);
});

test('it is quick to slow down, and never stops', () => {
  const pace = new DrawingPace(false);
  pace.learn(1_000_000, 1000);
  expect(pace.most(true)).toBeLessThan(100_000);
  for (let turn = 0; turn < 50; turn++) pace.learn(50_000, 10_000);
  expect(pace.most(true)).toBe(40_000);
});

test('few elements tell nothing', () => {
  const pace = new DrawingPace(false);
  pace.learn(10, 1000);
  expect(pace.most(true)).toBeGreaterThan(1_000_000);
});
