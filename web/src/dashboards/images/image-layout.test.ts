import { expect, test } from 'vitest';

import {
  aspectRatio,
  distinguishingLabels,
  fitInside,
  layoutGrid,
  layoutGroups,
  layoutImages,
  measureGrid,
  sampleEvenly,
  selectImages,
} from './image-layout';
import type { ImageInfo } from '../../api/schemas';

const PLAIN = { gap: 0, captionHeight: 0, minWidth: 20, minImageWidth: 15 };

test('one image gets all the space', () => {
  const space = { width: 300, height: 200 };
  expect(layoutGrid(1, 1, space, PLAIN)).toEqual({ columns: 1, rows: 1, ...space });
});

test('images are as large as possible', () => {
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

test('gaps and captions are included', () => {
  const spacing = { ...PLAIN, gap: 10, captionHeight: 20 };
  const grid = layoutGrid(4, 1, { width: 210, height: 250 }, spacing);
  expect(grid).toEqual({ columns: 2, rows: 2, width: 100, height: 120 });
});

test('images that would be too small scroll', () => {
  const spacing = { ...PLAIN, minWidth: 100, minImageWidth: 75 };
  const grid = layoutGrid(500, 1, { width: 330, height: 200 }, spacing);
  expect(grid).toMatchObject({ columns: 3, rows: 167, width: 110, height: 110 });
});

test('small images in large groups do not scroll', () => {
  const digits = { count: 20, aspect: 1, gap: 2 };
  const spacing = { gap: 8, captionHeight: 20, minWidth: 96, minImageWidth: 14 };
  const grid = layoutGroups(3, digits, { width: 318, height: 250 }, spacing);
  expect(grid).toMatchObject({ columns: 3, rows: 1, height: 250 });
});

test('groups are arranged so that their images are large', () => {
  const batch8 = { count: 8, aspect: 1, gap: 0 };
  // Two rows of eight images.
  expect(layoutGroups(2, batch8, { width: 400, height: 100 }, PLAIN)).toMatchObject({
    columns: 1,
    rows: 2,
  });
  const single = { count: 1, aspect: 1, gap: 0 };
  expect(layoutGroups(2, single, { width: 400, height: 200 }, PLAIN).columns).toBe(2);
});

test('a layout without space is valid', () => {
  const grid = layoutGrid(3, 1, { width: 0, height: 0 }, PLAIN);
  expect(grid.columns).toBe(1);
  expect(grid.width).toBeGreaterThan(0);
});

const part = (at: number, width: number, height: number): ImageInfo =>
  ({ part: at, width, height, video: false, problem: null }) as ImageInfo;
const batch = Array.from({ length: 20 }, (_, at) => part(at, 28, 28));

test('selects all images of a step, or one', () => {
  expect(selectImages(batch, null)).toHaveLength(20);
  expect(selectImages(batch, 3).map(({ part }) => part)).toEqual([3]);
  expect(selectImages(batch, 99).map(({ part }) => part)).toEqual([19]);
  expect(selectImages([], 0)).toEqual([]);
});

test('a batch of twenty images fills a grid', () => {
  const { columns, tile } = layoutImages(batch, { width: 340, height: 270 });
  expect(columns).toBe(5);
  expect(tile.width).toBe(tile.height);
  expect(tile.width).toBeGreaterThan(60);
});

test('the aspect ratio is that of the first valid image', () => {
  expect(aspectRatio([part(0, 0, 0), part(1, 40, 20)])).toBe(2);
  expect(aspectRatio([])).toBe(1);
});

test('an image keeps its aspect ratio in a box', () => {
  expect(fitInside({ width: 40, height: 20 }, { width: 100, height: 100 })).toEqual({
    width: 100,
    height: 50,
  });
  expect(fitInside({ width: 0, height: 0 }, { width: 9, height: 8 })).toEqual({
    width: 9,
    height: 8,
  });
});

test('few runs have large cells, many have small ones and scroll', () => {
  const space = { width: 800, height: 600 };
  expect(measureGrid(1, 1, space)).toMatchObject({ width: 180, height: 180, columns: 4 });
  const many = measureGrid(50, 1, space);
  expect(many).toMatchObject({ width: 56, height: 56 });
  expect(many.columns).toBe(13);
});

test('at least four steps fit', () => {
  for (const width of [300, 301, 302, 303, 520])
    expect(measureGrid(2, 10, { width, height: 450 }).columns).toBe(4);
  expect(measureGrid(1, 10, { width: 300, height: 300 }).width).toBe(72);
});

const upTo = (count: number): Float64Array => Float64Array.from({ length: count }, (_, at) => at);

test('few items are returned unchanged', () => {
  expect(sampleEvenly([3, 1, 2], 5)).toEqual([3, 1, 2]);
});

test('samples include the first and the last item', () => {
  expect(sampleEvenly(upTo(101), 5)).toEqual([0, 25, 50, 75, 100]);
  const sample = sampleEvenly(upTo(10_000), 7);
  expect(sample[0]).toBe(0);
  expect(sample.at(-1)).toBe(9999);
  expect(new Set(sample).size).toBe(7);
});

test('a sample of one is the last item', () => {
  expect(sampleEvenly(upTo(9), 1)).toEqual([8]);
});

test('removes common folders', () => {
  expect(distinguishingLabels(['sweep/lr=0.01/validation', 'sweep/lr=0.1/validation'])).toEqual([
    'lr=0.01',
    'lr=0.1',
  ]);
  expect(distinguishingLabels(['a/train', 'a/validation'])).toEqual(['train', 'validation']);
});

test('labels do not become empty', () => {
  expect(distinguishingLabels(['a/b'])).toEqual(['a/b']);
  expect(distinguishingLabels(['a', 'a/b'])).toEqual(['a', 'a/b']);
  expect(distinguishingLabels(['x/a', 'x/a'])).toEqual(['a', 'a']);
});
