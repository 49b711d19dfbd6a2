import { expect, test } from 'vitest';

import { takePixel, tellPixel } from './pixels';

const SQUARE = {
  ...{ x: 64, y: 128, width: 2, height: 2, bits: 16 },
  channels: ['red', 'green', 'blue'],
  values: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 65535, 11, 12),
};

test('a pixel is found in its square', () => {
  const pixel = takePixel(SQUARE, { x: 65, y: 129 });
  expect(pixel.values).toEqual([65535, 11, 12]);
  expect(tellPixel(pixel)).toBe('R 65535  G 11  B 12');
});

test('grey needs no name, and floats no endless digits', () => {
  const grey = { x: 0, y: 0, bits: 32, channels: ['grey'], values: [0.1 + 0.2] };
  expect(tellPixel(grey)).toBe('0.3');
});
