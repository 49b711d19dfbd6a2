import { expect, test } from 'vitest';

import { findPixel, formatPixel, makePixelLabel, visiblePixels } from './pixel-values';

const BLOCK = {
  ...{ x: 64, y: 128, width: 2, height: 2, bits: 16 },
  channels: ['red', 'green', 'blue'],
  values: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 65535, 11, 12),
};

test('finds a pixel in its block', () => {
  const pixel = findPixel(BLOCK, { x: 65, y: 129 });
  expect(pixel?.values).toEqual([65535, 11, 12]);
  expect(pixel && formatPixel(pixel)).toBe('R 65535  G 11  B 12');
  expect(pixel && makePixelLabel(pixel).text).toBe('65535\n11\n12');
  expect(findPixel(BLOCK, { x: 66, y: 129 })).toBeNull();
});

test('gray values have no label, floats are rounded', () => {
  const gray = { x: 0, y: 0, bits: 32, channels: ['gray'], values: [0.1 + 0.2] };
  expect(formatPixel(gray)).toBe('0.3');
});

const imageSize = { width: 10, height: 5 };
const paneSize = { width: 100, height: 100 };

test('only visible pixels are labeled', () => {
  const pixels = visiblePixels(imageSize, { left: -70, top: 10, scale: 50 }, paneSize);
  expect(pixels).toEqual([
    { x: 1, y: 0 },
    { x: 2, y: 0 },
    { x: 3, y: 0 },
    { x: 1, y: 1 },
    { x: 2, y: 1 },
    { x: 3, y: 1 },
  ]);
});

test('there are no visible pixels beside the image', () => {
  expect(visiblePixels(imageSize, { left: 200, top: 0, scale: 50 }, paneSize)).toEqual([]);
});
