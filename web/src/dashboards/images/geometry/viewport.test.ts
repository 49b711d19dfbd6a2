import { expect, test } from 'vitest';

import { fitScale, lieOf, panBy, pixelAt, WHOLE, zoomAt, zoomFor } from './viewport';

const WIDE = { place: { width: 400, height: 300 }, picture: { width: 200, height: 50 } };

test('a whole picture fits and is in the middle', () => {
  expect(lieOf(WIDE, WHOLE)).toEqual({ scale: 2, left: 0, top: 100 });
});

test('what is under the pointer stays there when it zooms', () => {
  const at = { x: 100, y: 150 };
  const before = pixelAt(WIDE, WHOLE, at);
  const zoomed = zoomAt(WIDE, WHOLE, at, 8);
  expect(zoomed.zoom).toBe(8);
  expect(pixelAt(WIDE, zoomed, at)).toEqual(before);
  expect(lieOf(WIDE, zoomed).scale).toBe(16);
});

test('zoom has ends: actual size of small pictures, a few pixels of large ones', () => {
  expect(zoomAt(WIDE, WHOLE, { x: 0, y: 0 }, 1e9).zoom * fitScale(WIDE)).toBe(96);
  expect(zoomAt(WIDE, WHOLE, { x: 0, y: 0 }, 1e-9).zoom).toBe(0.5);
  const large = { ...WIDE, picture: { width: 4000, height: 1000 } };
  expect(zoomAt(large, WHOLE, { x: 0, y: 0 }, 1e-9).zoom).toBe(1);
});

test('a picture is not moved out of its place', () => {
  expect(panBy(WIDE, WHOLE, 100, 100)).toEqual(WHOLE);
  const zoomed = zoomAt(WIDE, WHOLE, { x: 200, y: 150 }, 8);
  const moved = panBy(WIDE, zoomed, 1e6, 1e6);
  expect(lieOf(WIDE, moved)).toMatchObject({ left: 0, top: 0 });
  const back = panBy(WIDE, zoomed, -1e6, -1e6);
  expect(lieOf(WIDE, back)).toMatchObject({ left: 400 - 200 * 16, top: 300 - 50 * 16 });
});

test('a hand moves the picture by as much as itself', () => {
  const zoomed = zoomAt(WIDE, WHOLE, { x: 200, y: 150 }, 8);
  const before = lieOf(WIDE, zoomed);
  const after = lieOf(WIDE, panBy(WIDE, zoomed, 30, -20));
  expect(after.left - before.left).toBeCloseTo(30);
  expect(after.top - before.top).toBeCloseTo(-20);
});

test('pixels are told from the place beside the picture', () => {
  expect(pixelAt(WIDE, WHOLE, { x: 0, y: 100 })).toEqual({ x: 0, y: 0 });
  expect(pixelAt(WIDE, WHOLE, { x: 399, y: 199 })).toEqual({ x: 199, y: 49 });
  expect(pixelAt(WIDE, WHOLE, { x: 10, y: 99 })).toBeNull();
});

test('the zoom for a scale is the one that gives it', () => {
  expect(lieOf(WIDE, { ...WHOLE, zoom: zoomFor(WIDE, 1) }).scale).toBe(1);
});
