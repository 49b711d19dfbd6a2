import { expect, test } from 'vitest';

import type { ImageInfo } from '../../api/schemas';
import {
  archivePath,
  describeImage,
  hasAlpha,
  imagePythonCode,
  ImageValue,
  neededImageSize,
  thumbnailPath,
} from './query';

const STEPS = {
  run: 'a b',
  tag: 'x/y',
  index: Int32Array.of(4, 5),
  step: Float64Array.of(10, 20),
  wallTime: Float64Array.of(1, 2),
  fingerprint: Int32Array.of(77, 78),
};
const VALUE = new ImageValue(STEPS, 1);

function makeInfo(changes: Partial<ImageInfo> = {}): ImageInfo {
  return {
    ...{ part: 2, format: 'PNG', media_type: 'image/png', width: 100, height: 50, mode: 'RGB' },
    ...{ channels: 3, bits: 8, bytes: 9, frames: 1, duration_ms: 0, video: false, tiled: false },
    ...{ problem: null, ...changes },
  };
}

test('the key of a value contains its fingerprint', () => {
  expect(VALUE.key).toBe('about?run=a%20b&tag=x%2Fy&index=5&fingerprint=78');
  expect(VALUE.step).toBe(20);
  expect(VALUE.neighbor(-1)?.step).toBe(10);
  expect(VALUE.neighbor(1)).toBeUndefined();
});

test('the needed size is in screen pixels and at most that of the image', () => {
  const size = { width: 1000, height: 500 };
  expect(neededImageSize(size, { width: 300, height: 300 }, 2)).toBe(600);
  expect(neededImageSize({ width: 28, height: 28 }, { width: 300, height: 300 }, 2)).toBe(28);
});

test('the smallest sufficient thumbnail is used, else the original', () => {
  const end = (side: number, changes: Partial<ImageInfo> = {}): string =>
    thumbnailPath(VALUE, makeInfo(changes), side, true).replace(/.*&fingerprint=78/, '');
  expect(end(60)).toBe('&part=2&size=64');
  expect(end(65)).toBe('&part=2&size=128');
  expect(end(2048)).toBe('&part=2&size=2048');
  expect(end(2049)).toBe('&part=2');
  expect(end(9000, { tiled: true })).toBe('&part=2&size=2048');
});

test('an export has one size', () => {
  expect(thumbnailPath(VALUE, makeInfo(), 60, false)).toContain('thumbnail?');
  expect(thumbnailPath(VALUE, makeInfo(), 60, false)).toContain('size=512');
});

test('describes the format of an image', () => {
  expect(describeImage(makeInfo())).toBe('100 × 50 · PNG');
  expect(describeImage(makeInfo({ mode: 'I;16', bits: 16 }))).toBe(
    '100 × 50 · PNG · 16-bit · grayscale',
  );
  expect(describeImage(makeInfo({ mode: 'LA', frames: 3 }))).toContain('with alpha · 3 frames');
  expect([makeInfo({ mode: 'RGBA' }), makeInfo({ mode: 'RGB' })].map(hasAlpha)).toEqual([
    true,
    false,
  ]);
});

test('the archive contains the selected runs', () => {
  expect(archivePath('a/b', ['x', 'y z'])).toBe('archive?tag=a%2Fb&runs=x&runs=y%20z');
});

test('Python code reads the shown step, or the last one', () => {
  const options = { roots: [{ name: '', path: '/logs' }], run: 'a "b"', tag: 'x' };
  const code = imagePythonCode({ ...options, step: 20 });
  expect(code).toContain('tracklight.open("/logs")');
  expect(code).toContain('log.images("a \\"b\\"", "x")');
  expect(code).toContain('images.at(20)');
  expect(imagePythonCode({ ...options, step: null })).toContain('images[-1]');
});
