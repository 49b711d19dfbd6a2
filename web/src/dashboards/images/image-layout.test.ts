import { expect, test } from 'vitest';

import {
  aspectRatio,
  distinguishingLabels,
  fitInside,
  layoutImages,
  measureGrid,
  sampleEvenly,
  selectImages,
} from './image-layout';
import type { ImageInfo } from '../../api/schemas';

const part = (at: number, width: number, height: number): ImageInfo =>
  ({ part: at, width, height, video: false, problem: null }) as ImageInfo;
const batch = Array.from({ length: 20 }, (_, at) => part(at, 28, 28));

test('all pictures of a step, or the one that is looked at', () => {
  expect(selectImages(batch, null)).toHaveLength(20);
  expect(selectImages(batch, 3).map(({ part }) => part)).toEqual([3]);
  expect(selectImages(batch, 99).map(({ part }) => part)).toEqual([19]);
  expect(selectImages([], 0)).toEqual([]);
});

test('a batch of twenty becomes a sheet without holes', () => {
  const { columns, tile } = layoutImages(batch, { width: 340, height: 270 });
  expect(columns).toBe(5);
  expect(tile.width).toBe(tile.height);
  expect(tile.width).toBeGreaterThan(60);
});

test('the shape is that of the first picture that has one', () => {
  expect(aspectRatio([part(0, 0, 0), part(1, 40, 20)])).toBe(2);
  expect(aspectRatio([])).toBe(1);
});

test('a picture keeps its shape in a box', () => {
  expect(fitInside({ width: 40, height: 20 }, { width: 100, height: 100 })).toEqual({
    width: 100,
    height: 50,
  });
  expect(fitInside({ width: 0, height: 0 }, { width: 9, height: 8 })).toEqual({
    width: 9,
    height: 8,
  });
});

test('few runs have large pictures, many have small ones and scroll', () => {
  const place = { width: 800, height: 600 };
  expect(measureGrid(1, 1, place)).toMatchObject({ width: 180, height: 180, columns: 4 });
  const many = measureGrid(50, 1, place);
  expect(many).toMatchObject({ width: 56, height: 56 });
  expect(many.columns).toBe(13);
});

test('a few steps fit, however wide the pictures and the place are', () => {
  for (const width of [300, 301, 302, 303, 520])
    expect(measureGrid(2, 10, { width, height: 450 }).columns).toBe(4);
  expect(measureGrid(1, 10, { width: 300, height: 300 }).width).toBe(72);
});

const upTo = (count: number): Float64Array => Float64Array.from({ length: count }, (_, at) => at);

test('few are all taken', () => {
  expect(sampleEvenly([3, 1, 2], 5)).toEqual([3, 1, 2]);
});

test('of many, the first, the last and evenly between', () => {
  expect(sampleEvenly(upTo(101), 5)).toEqual([0, 25, 50, 75, 100]);
  const chosen = sampleEvenly(upTo(10_000), 7);
  expect(chosen[0]).toBe(0);
  expect(chosen.at(-1)).toBe(9999);
  expect(new Set(chosen).size).toBe(7);
});

test('one of many is the last', () => {
  expect(sampleEvenly(upTo(9), 1)).toEqual([8]);
});

test('only what differs is left of names', () => {
  expect(distinguishingLabels(['sweep/lr=0.01/validation', 'sweep/lr=0.1/validation'])).toEqual([
    'lr=0.01',
    'lr=0.1',
  ]);
  expect(distinguishingLabels(['a/train', 'a/validation'])).toEqual(['train', 'validation']);
});

test('one name is itself, and no name becomes empty', () => {
  expect(distinguishingLabels(['a/b'])).toEqual(['a/b']);
  expect(distinguishingLabels(['a', 'a/b'])).toEqual(['a', 'a/b']);
  expect(distinguishingLabels(['x/a', 'x/a'])).toEqual(['a', 'a']);
});
