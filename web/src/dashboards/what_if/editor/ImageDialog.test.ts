import { expect, test } from 'vitest';

import { makeSaliencyPixels } from './ImageDialog.svelte';

function getAlphas(pixels: Uint8ClampedArray): number[] {
  return Array.from({ length: pixels.length / 4 }, (_, at) => pixels[4 * at + 3] ?? -1);
}

test('the largest attribution has half the opacity', () => {
  const pixels = makeSaliencyPixels([1, -2, 0, NaN], 0);
  expect(getAlphas(pixels)).toEqual([64, 128, 0, 0]);
  expect(pixels[0]).toBeGreaterThan(pixels[2] ?? 0);
  expect(pixels[6]).toBeGreaterThan(pixels[4] ?? 0);
});

test('small attributions are cut off', () => {
  expect(getAlphas(makeSaliencyPixels([1, 2, 3, 4], 50))).toEqual([0, 0, 96, 128]);
  expect(getAlphas(makeSaliencyPixels([1, 2, 3, 4], 100))).toEqual([0, 0, 0, 128]);
  expect(getAlphas(makeSaliencyPixels([0, 0], 0))).toEqual([0, 0]);
});
