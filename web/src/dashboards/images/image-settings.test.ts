import { expect, test } from 'vitest';

import { FIT_VIEWPORT } from './image-geometry';
import { imagePairCodec, viewportCodec } from './image-settings';

test('image pairs survive formatting and parsing', () => {
  const pair = [
    { run: 'a,b', step: null, part: 0 },
    { run: 'c', step: 120, part: 3 },
  ] as const;
  expect(imagePairCodec.parse(imagePairCodec.format(pair))).toEqual(pair);
  expect(imagePairCodec.parse(imagePairCodec.format(null))).toBeNull();
});

test('invalid values are rejected or completed', () => {
  expect(imagePairCodec.parse('only')).toBeNull();
  expect(imagePairCodec.parse('a,x,-1,b,,y')).toEqual([
    { run: 'a', step: null, part: 0 },
    { run: 'b', step: null, part: 0 },
  ]);
  expect(viewportCodec.parse('0.1,nothing,4')).toEqual(FIT_VIEWPORT);
  expect(viewportCodec.parse('0.1,0.2,-4')).toEqual(FIT_VIEWPORT);
});

test('viewports are rounded', () => {
  expect(viewportCodec.format({ x: 1 / 3, y: 0.25, zoom: 8 })).toBe('0.33333,0.25,8');
  expect(viewportCodec.parse('0.33333,0.25,8')).toEqual({ x: 0.33333, y: 0.25, zoom: 8 });
});
