import { expect, test } from 'vitest';

import { amplify, computeDifference, type PixelBuffer } from './image-comparison';

function makeImage(width: number, height: number, pixel: readonly number[]): PixelBuffer {
  const data = new Uint8ClampedArray(width * height * 4);
  for (let at = 0; at < data.length; at += 4) data.set(pixel, at);
  return { data, width, height };
}

test('identical images do not differ', () => {
  const gray = makeImage(3, 2, [9, 9, 9, 255]);
  const difference = computeDifference(gray, gray);
  expect(difference).toMatchObject({
    width: 3,
    height: 2,
    max: 0,
    maxAt: null,
    mean: 0,
    changedShare: 0,
  });
  expect([...difference.data.slice(0, 4)]).toEqual([0, 0, 0, 255]);
});

test('finds the largest difference and its position', () => {
  const one = makeImage(4, 3, [10, 20, 30, 255]);
  const other = makeImage(4, 3, [10, 20, 30, 255]);
  other.data[(1 * 4 + 2) * 4 + 1] = 220;
  other.data[0] = 13;
  const difference = computeDifference(one, other);
  expect(difference).toMatchObject({ max: 200, maxAt: { x: 2, y: 1 }, changedShare: 2 / 12 });
  expect(difference.mean).toBeCloseTo(203 / 36);
});

test('alpha is compared', () => {
  const difference = computeDifference(
    makeImage(1, 1, [0, 0, 0, 255]),
    makeImage(1, 1, [0, 0, 0, 0]),
  );
  expect(difference).toMatchObject({ max: 255, maxAt: { x: 0, y: 0 }, mean: 0, changedShare: 1 });
});

test('the common area of images of different sizes is compared', () => {
  const difference = computeDifference(
    makeImage(4, 2, [1, 1, 1, 255]),
    makeImage(2, 4, [3, 1, 1, 255]),
  );
  expect(difference).toMatchObject({ width: 2, height: 2, max: 2, changedShare: 1 });
});

test('amplifies the color channels, but not alpha', () => {
  const data = new Uint8ClampedArray([1, 2, 200, 255]);
  expect([...amplify(data, 8)]).toEqual([8, 16, 255, 255]);
});
