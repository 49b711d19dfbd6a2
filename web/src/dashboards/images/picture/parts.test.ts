import { expect, test } from 'vitest';

import type { PartAbout } from '../../../api/images';
import { aspectOf, chooseParts, fitIn, layOutParts } from './parts';

const part = (at: number, width: number, height: number): PartAbout =>
  ({ part: at, width, height, video: false, problem: null }) as PartAbout;
const batch = Array.from({ length: 20 }, (_, at) => part(at, 28, 28));

test('all pictures of a step, or the one that is looked at', () => {
  expect(chooseParts(batch, null)).toHaveLength(20);
  expect(chooseParts(batch, 3).map(({ part }) => part)).toEqual([3]);
  expect(chooseParts(batch, 99).map(({ part }) => part)).toEqual([19]);
  expect(chooseParts([], 0)).toEqual([]);
});

test('a batch of twenty becomes a sheet without holes', () => {
  const { columns, tile } = layOutParts(batch, { width: 340, height: 270 });
  expect(columns).toBe(5);
  expect(tile.width).toBe(tile.height);
  expect(tile.width).toBeGreaterThan(60);
});

test('the shape is that of the first picture that has one', () => {
  expect(aspectOf([part(0, 0, 0), part(1, 40, 20)])).toBe(2);
  expect(aspectOf([])).toBe(1);
});

test('a picture keeps its shape in a box', () => {
  expect(fitIn({ width: 40, height: 20 }, { width: 100, height: 100 })).toEqual({
    width: 100,
    height: 50,
  });
  expect(fitIn({ width: 0, height: 0 }, { width: 9, height: 8 })).toEqual({ width: 9, height: 8 });
});
