import { expect, test } from 'vitest';

import { FIT_VIEWPORT } from './image-geometry';
import { imagePairCodec, viewportCodec } from './image-settings';

test('two pictures survive an address', () => {
  const sides = [
    { run: 'a,b', step: null, part: 0 },
    { run: 'c', step: 120, part: 3 },
  ] as const;
  expect(imagePairCodec.parse(imagePairCodec.format(sides))).toEqual(sides);
  expect(imagePairCodec.parse(imagePairCodec.format(null))).toBeNull();
});

test('what is damaged means nothing, or as little as can be', () => {
  expect(imagePairCodec.parse('only')).toBeNull();
  expect(imagePairCodec.parse('a,x,-1,b,,y')).toEqual([
    { run: 'a', step: null, part: 0 },
    { run: 'b', step: null, part: 0 },
  ]);
  expect(viewportCodec.parse('0.1,nothing,4')).toEqual(FIT_VIEWPORT);
  expect(viewportCodec.parse('0.1,0.2,-4')).toEqual(FIT_VIEWPORT);
});

test('a place in a picture is written short', () => {
  expect(viewportCodec.format({ x: 1 / 3, y: 0.25, zoom: 8 })).toBe('0.33333,0.25,8');
  expect(viewportCodec.parse('0.33333,0.25,8')).toEqual({ x: 0.33333, y: 0.25, zoom: 8 });
});
