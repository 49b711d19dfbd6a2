import { expect, test } from 'vitest';

import { amplify, computeDifference, type PixelBuffer } from './image-comparison';

function filled(width: number, height: number, pixel: readonly number[]): PixelBuffer {
  const data = new Uint8ClampedArray(width * height * 4);
  for (let at = 0; at < data.length; at += 4) data.set(pixel, at);
  return { data, width, height };
}

test('the same pictures do not differ', () => {
  const grey = filled(3, 2, [9, 9, 9, 255]);
  const found = computeDifference(grey, grey);
  expect(found).toMatchObject({
    width: 3,
    height: 2,
    max: 0,
    maxAt: null,
    mean: 0,
    changedShare: 0,
  });
  expect([...found.data.slice(0, 4)]).toEqual([0, 0, 0, 255]);
});

test('the largest difference is found where it is', () => {
  const one = filled(4, 3, [10, 20, 30, 255]);
  const other = filled(4, 3, [10, 20, 30, 255]);
  other.data[(1 * 4 + 2) * 4 + 1] = 220;
  other.data[0] = 13;
  const found = computeDifference(one, other);
  expect(found).toMatchObject({ max: 200, maxAt: { x: 2, y: 1 }, changedShare: 2 / 12 });
  expect(found.mean).toBeCloseTo(203 / 36);
});

test('transparency counts as well', () => {
  const found = computeDifference(filled(1, 1, [0, 0, 0, 255]), filled(1, 1, [0, 0, 0, 0]));
  expect(found).toMatchObject({ max: 255, maxAt: { x: 0, y: 0 }, mean: 0, changedShare: 1 });
});

test('pictures of two sizes are compared where both have pixels', () => {
  const found = computeDifference(filled(4, 2, [1, 1, 1, 255]), filled(2, 4, [3, 1, 1, 255]));
  expect(found).toMatchObject({ width: 2, height: 2, max: 2, changedShare: 1 });
});

test('small differences are made seen, and alpha is left alone', () => {
  const data = new Uint8ClampedArray([1, 2, 200, 255]);
  expect([...amplify(data, 8)]).toEqual([8, 16, 255, 255]);
});
