import { expect, test } from 'vitest';

import { chooseZoom, listTiles, type PlaneView, TileCache } from './density-tiles';

const view: PlaneView = { width: 800, height: 600, pxPerUnit: 200, center: { x: 0, y: 0 } };

test('chooses tiles of about the resolution of the screen', () => {
  expect(chooseZoom(view, 2, 20)).toBe(2);
  expect(chooseZoom({ ...view, pxPerUnit: 400 }, 2, 20)).toBe(3);
  expect(chooseZoom({ ...view, pxPerUnit: 1 }, 2, 20)).toBe(0);
  expect(chooseZoom({ ...view, pxPerUnit: 1e9 }, 2, 20)).toBe(20);
});

test('lists the visible tiles, the central ones first, and those around them', () => {
  const { needed, spare } = listTiles({ ...view, center: { x: 0.5, y: 0.5 } }, 4, 20);
  const zoom = chooseZoom(view, 4, 20);
  const side = 8 / 2 ** zoom;
  for (const { x, y } of needed) {
    const [left, top] = [-4 + x * side, 4 - y * side];
    expect(left).toBeLessThanOrEqual(2.5);
    expect(left + side).toBeGreaterThanOrEqual(-1.5);
    expect(top).toBeGreaterThanOrEqual(-1);
    expect(top - side).toBeLessThanOrEqual(2);
  }
  const keys = new Set([...needed, ...spare].map(({ x, y }) => `${x}/${y}`));
  expect(keys.size).toBe(needed.length + spare.length);
  const [first] = needed;
  expect(Math.abs(-4 + ((first?.x ?? 0) + 0.5) * side - 0.5)).toBeLessThanOrEqual(side);
});

test('lists no tiles beside the layout', () => {
  expect(listTiles({ ...view, center: { x: 100, y: 0 } }, 2, 20).needed).toEqual([]);
});

test('a tile is loaded once, and again after an error', () => {
  const cache = new TileCache();
  const id = { zoom: 1, x: 0, y: 1 };
  expect([cache.reserve(id), cache.reserve(id)]).toEqual([true, false]);
  cache.release(id);
  expect(cache.reserve(id)).toBe(true);
  expect(cache.find(id)).toBeNull();
});
