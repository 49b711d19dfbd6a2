import { expect, test } from 'vitest';

import type { ImageInfo } from '../../api/schemas';
import { describeImage, hasAlpha, ImageValue, neededImageSize, thumbnailPath } from './query';

const STEPS = {
  run: 'a b',
  tag: 'x/y',
  index: Int32Array.of(4, 5),
  step: Float64Array.of(10, 20),
  wallTime: Float64Array.of(1, 2),
  mark: Int32Array.of(77, 78),
};
const VALUE = new ImageValue(STEPS, 1);

function about(some: Partial<ImageInfo>): ImageInfo {
  return {
    ...{ part: 2, format: 'PNG', media_type: 'image/png', width: 100, height: 50, mode: 'RGB' },
    ...{ channels: 3, bits: 8, bytes: 9, frames: 1, duration_ms: 0, video: false, tiled: false },
    ...{ problem: null, ...some },
  };
}

test('a value is named by what never changes', () => {
  expect(VALUE.key).toBe('about?run=a%20b&tag=x%2Fy&index=5&mark=78');
  expect(VALUE.step).toBe(20);
  expect(VALUE.neighbor(-1)?.step).toBe(10);
  expect(VALUE.neighbor(1)).toBeUndefined();
});

test('pictures are asked for in the pixels of the screen, and never enlarged', () => {
  const size = { width: 1000, height: 500 };
  expect(neededImageSize(size, { width: 300, height: 300 }, 2)).toBe(600);
  expect(neededImageSize({ width: 28, height: 28 }, { width: 300, height: 300 }, 2)).toBe(28);
});

test('a small copy where there is one that is large enough, else the picture itself', () => {
  const end = (side: number, some: Partial<ImageInfo> = {}): string =>
    thumbnailPath(VALUE, about(some), side, false).replace(/.*&mark=78/, '');
  expect(end(60)).toBe('&part=2&size=64');
  expect(end(65)).toBe('&part=2&size=128');
  expect(end(2048)).toBe('&part=2&size=2048');
  expect(end(2049)).toBe('&part=2');
  expect(end(9000, { tiled: true })).toBe('&part=2&size=2048');
});

test('a copy of a board has one size', () => {
  expect(thumbnailPath(VALUE, about({}), 60, true)).toContain('thumbnail?');
  expect(thumbnailPath(VALUE, about({}), 60, true)).toContain('size=512');
});

test('what is said of a picture', () => {
  expect(describeImage(about({}))).toBe('100 × 50 · PNG');
  expect(describeImage(about({ mode: 'I;16', bits: 16 }))).toBe('100 × 50 · PNG · 16 bit · grey');
  expect(describeImage(about({ mode: 'LA', frames: 3 }))).toContain('with alpha · 3 frames');
  expect([about({ mode: 'RGBA' }), about({ mode: 'RGB' })].map(hasAlpha)).toEqual([true, false]);
});
