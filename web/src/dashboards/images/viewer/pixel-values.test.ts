import { expect, test } from 'vitest';

import type { ImageInfo } from '../../../api/schemas';
import { formatPixel, pixelFromBlock, visiblePixels } from './pixel-values';

const SQUARE = {
  ...{ x: 64, y: 128, width: 2, height: 2, bits: 16 },
  channels: ['red', 'green', 'blue'],
  values: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 65535, 11, 12),
};

test('a pixel is found in its square', () => {
  const pixel = pixelFromBlock(SQUARE, { x: 65, y: 129 });
  expect(pixel.values).toEqual([65535, 11, 12]);
  expect(formatPixel(pixel)).toBe('R 65535  G 11  B 12');
});

test('grey needs no name, and floats no endless digits', () => {
  const grey = { x: 0, y: 0, bits: 32, channels: ['grey'], values: [0.1 + 0.2] };
  expect(formatPixel(grey)).toBe('0.3');
});

const about = { width: 10, height: 5 } as ImageInfo;
const place = { width: 100, height: 100 };

test('only pixels that are seen are read', () => {
  const spots = visiblePixels({
    info: about,
    paneSize: place,
    transform: { left: -70, top: 10, scale: 50 },
  });
  expect(spots).toEqual([
    { x: 1, y: 0 },
    { x: 2, y: 0 },
    { x: 3, y: 0 },
    { x: 1, y: 1 },
    { x: 2, y: 1 },
    { x: 3, y: 1 },
  ]);
});

test('beside the picture there are none', () => {
  expect(
    visiblePixels({ info: about, paneSize: place, transform: { left: 200, top: 0, scale: 50 } }),
  ).toEqual([]);
});
