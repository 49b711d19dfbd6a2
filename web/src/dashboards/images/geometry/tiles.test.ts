import { expect, test } from 'vitest';

import { levelFor, needsTiles, tilesIn } from './tiles';

const HUGE = { width: 10_000, height: 10_000 };

test('only huge pictures come in tiles', () => {
  expect(needsTiles({ width: 2048, height: 2048 })).toBe(false);
  expect(needsTiles(HUGE)).toBe(true);
  expect(needsTiles({ width: 20_000, height: 10 })).toBe(true);
});

test('the level is just fine enough for the screen', () => {
  expect(levelFor(HUGE, 3)).toBe(0);
  expect(levelFor(HUGE, 1)).toBe(0);
  expect(levelFor(HUGE, 0.51)).toBe(0);
  expect(levelFor(HUGE, 0.5)).toBe(1);
  expect(levelFor(HUGE, 0.1)).toBe(3);
  expect(levelFor(HUGE, 1e-6)).toBe(5);
});

test('only tiles that are seen are asked for', () => {
  const place = { width: 1000, height: 600 };
  const tiles = tilesIn(HUGE, place, { left: 0, top: 0, scale: 1 }, 0);
  expect(tiles).toHaveLength(2 * 2);
  const far = tilesIn(HUGE, place, { left: -9000, top: -9400, scale: 1 }, 0);
  expect(Math.max(...far.map(({ x }) => x))).toBe(19);
  expect(far.every(({ left, width }) => left + width <= 10_000)).toBe(true);
});

test('all of the picture is covered once', () => {
  const place = { width: 500, height: 500 };
  const tiles = tilesIn(HUGE, place, { left: 0, top: 0, scale: 0.05 }, 4);
  expect(tiles).toHaveLength(4);
  expect(tiles.reduce((sum, { width, height }) => sum + width * height, 0)).toBe(1e8);
});

test('tiles in the middle come first', () => {
  const place = { width: 1536, height: 1536 };
  const [first] = tilesIn(HUGE, place, { left: 0, top: 0, scale: 1 }, 0);
  expect(first).toMatchObject({ x: 1, y: 1, left: 512, top: 512 });
});
