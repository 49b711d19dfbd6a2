import { expect, test } from 'vitest';

import {
  computeTransform,
  FIT_VIEWPORT,
  fitScale,
  layoutGrid,
  layoutGroups,
  needsTiles,
  panBy,
  pixelAt,
  tileLevel,
  visibleTiles,
  zoomAt,
  zoomForScale,
} from './image-geometry';

const PLAIN = { gap: 0, captionHeight: 0, minWidth: 20, minImageWidth: 15 };

test('one picture has all the place', () => {
  const place = { width: 300, height: 200 };
  expect(layoutGrid(1, 1, place, PLAIN)).toEqual({ columns: 1, rows: 1, ...place });
});

test('pictures stand where they become largest', () => {
  expect(layoutGrid(2, 1, { width: 400, height: 200 }, PLAIN)).toMatchObject({
    columns: 2,
    rows: 1,
  });
  expect(layoutGrid(2, 1, { width: 200, height: 400 }, PLAIN)).toMatchObject({
    columns: 1,
    rows: 2,
  });
  expect(layoutGrid(20, 1, { width: 500, height: 400 }, PLAIN)).toMatchObject({
    columns: 5,
    rows: 4,
  });
  expect(layoutGrid(3, 8, { width: 400, height: 200 }, PLAIN)).toMatchObject({
    columns: 1,
    rows: 3,
  });
});

test('gaps and captions take their share', () => {
  const spacing = { ...PLAIN, gap: 10, captionHeight: 20 };
  const found = layoutGrid(4, 1, { width: 210, height: 250 }, spacing);
  expect(found).toEqual({ columns: 2, rows: 2, width: 100, height: 120 });
});

test('what would be too small to see is scrolled to instead', () => {
  const spacing = { ...PLAIN, minWidth: 100, minImageWidth: 75 };
  const found = layoutGrid(500, 1, { width: 330, height: 200 }, spacing);
  expect(found).toMatchObject({ columns: 3, rows: 167, width: 110, height: 110 });
});

test('small pictures in large groups are no reason to scroll', () => {
  const digits = { count: 20, aspect: 1, gap: 2 };
  const spacing = { gap: 8, captionHeight: 20, minWidth: 96, minImageWidth: 14 };
  const found = layoutGroups(3, digits, { width: 318, height: 250 }, spacing);
  expect(found).toMatchObject({ columns: 3, rows: 1, height: 250 });
});

test('groups of pictures are as large as lets the pictures be large', () => {
  const strips = { count: 8, aspect: 1, gap: 0 };
  // Eight pictures a group: groups one below the other, each a row of eight.
  expect(layoutGroups(2, strips, { width: 400, height: 100 }, PLAIN)).toMatchObject({
    columns: 1,
    rows: 2,
  });
  const single = { count: 1, aspect: 1, gap: 0 };
  expect(layoutGroups(2, single, { width: 400, height: 200 }, PLAIN).columns).toBe(2);
});

test('a place without any size asks for nothing impossible', () => {
  const found = layoutGrid(3, 1, { width: 0, height: 0 }, PLAIN);
  expect(found.columns).toBe(1);
  expect(found.width).toBeGreaterThan(0);
});

const WIDE = { size: { width: 400, height: 300 }, imageSize: { width: 200, height: 50 } };

test('a whole picture fits and is in the middle', () => {
  expect(computeTransform(WIDE, FIT_VIEWPORT)).toEqual({ scale: 2, left: 0, top: 100 });
});

test('what is under the pointer stays there when it zooms', () => {
  const at = { x: 100, y: 150 };
  const before = pixelAt(WIDE, FIT_VIEWPORT, at);
  const zoomed = zoomAt(WIDE, FIT_VIEWPORT, at, 8);
  expect(zoomed.zoom).toBe(8);
  expect(pixelAt(WIDE, zoomed, at)).toEqual(before);
  expect(computeTransform(WIDE, zoomed).scale).toBe(16);
});

test('zoom has ends: actual size of small pictures, a few pixels of large ones', () => {
  expect(zoomAt(WIDE, FIT_VIEWPORT, { x: 0, y: 0 }, 1e9).zoom * fitScale(WIDE)).toBe(96);
  expect(zoomAt(WIDE, FIT_VIEWPORT, { x: 0, y: 0 }, 1e-9).zoom).toBe(0.5);
  const large = { ...WIDE, imageSize: { width: 4000, height: 1000 } };
  expect(zoomAt(large, FIT_VIEWPORT, { x: 0, y: 0 }, 1e-9).zoom).toBe(1);
});

test('a picture is not moved out of its place', () => {
  expect(panBy(WIDE, FIT_VIEWPORT, 100, 100)).toEqual(FIT_VIEWPORT);
  const zoomed = zoomAt(WIDE, FIT_VIEWPORT, { x: 200, y: 150 }, 8);
  const moved = panBy(WIDE, zoomed, 1e6, 1e6);
  expect(computeTransform(WIDE, moved)).toMatchObject({ left: 0, top: 0 });
  const back = panBy(WIDE, zoomed, -1e6, -1e6);
  expect(computeTransform(WIDE, back)).toMatchObject({ left: 400 - 200 * 16, top: 300 - 50 * 16 });
});

test('a hand moves the picture by as much as itself', () => {
  const zoomed = zoomAt(WIDE, FIT_VIEWPORT, { x: 200, y: 150 }, 8);
  const before = computeTransform(WIDE, zoomed);
  const after = computeTransform(WIDE, panBy(WIDE, zoomed, 30, -20));
  expect(after.left - before.left).toBeCloseTo(30);
  expect(after.top - before.top).toBeCloseTo(-20);
});

test('pixels are told from the place beside the picture', () => {
  expect(pixelAt(WIDE, FIT_VIEWPORT, { x: 0, y: 100 })).toEqual({ x: 0, y: 0 });
  expect(pixelAt(WIDE, FIT_VIEWPORT, { x: 399, y: 199 })).toEqual({ x: 199, y: 49 });
  expect(pixelAt(WIDE, FIT_VIEWPORT, { x: 10, y: 99 })).toBeNull();
});

test('the zoom for a scale is the one that gives it', () => {
  expect(computeTransform(WIDE, { ...FIT_VIEWPORT, zoom: zoomForScale(WIDE, 1) }).scale).toBe(1);
});

const HUGE = { width: 10_000, height: 10_000 };

test('only huge pictures come in tiles', () => {
  expect(needsTiles({ width: 2048, height: 2048 })).toBe(false);
  expect(needsTiles(HUGE)).toBe(true);
  expect(needsTiles({ width: 20_000, height: 10 })).toBe(true);
});

test('the level is just fine enough for the screen', () => {
  expect(tileLevel(HUGE, 3)).toBe(0);
  expect(tileLevel(HUGE, 1)).toBe(0);
  expect(tileLevel(HUGE, 0.51)).toBe(0);
  expect(tileLevel(HUGE, 0.5)).toBe(1);
  expect(tileLevel(HUGE, 0.1)).toBe(3);
  expect(tileLevel(HUGE, 1e-6)).toBe(5);
});

test('only tiles that are seen are asked for', () => {
  const place = { width: 1000, height: 600 };
  const tiles = visibleTiles(HUGE, place, { left: 0, top: 0, scale: 1 }, 0);
  expect(tiles).toHaveLength(2 * 2);
  const far = visibleTiles(HUGE, place, { left: -9000, top: -9400, scale: 1 }, 0);
  expect(Math.max(...far.map(({ x }) => x))).toBe(19);
  expect(far.every(({ left, width }) => left + width <= 10_000)).toBe(true);
});

test('all of the picture is covered once', () => {
  const place = { width: 500, height: 500 };
  const tiles = visibleTiles(HUGE, place, { left: 0, top: 0, scale: 0.05 }, 4);
  expect(tiles).toHaveLength(4);
  expect(tiles.reduce((sum, { width, height }) => sum + width * height, 0)).toBe(1e8);
});

test('tiles in the middle come first', () => {
  const place = { width: 1536, height: 1536 };
  const [first] = visibleTiles(HUGE, place, { left: 0, top: 0, scale: 1 }, 0);
  expect(first).toMatchObject({ x: 1, y: 1, left: 512, top: 512 });
});
