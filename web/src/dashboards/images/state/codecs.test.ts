import { expect, test } from 'vitest';

import { WHOLE } from '../geometry/viewport';
import { pair, viewport } from './codecs';

test('two pictures survive an address', () => {
  const sides = [
    { run: 'a,b', step: null, part: 0 },
    { run: 'c', step: 120, part: 3 },
  ] as const;
  expect(pair.parse(pair.format(sides))).toEqual(sides);
  expect(pair.parse(pair.format(null))).toBeNull();
});

test('what is damaged means nothing, or as little as can be', () => {
  expect(pair.parse('only')).toBeNull();
  expect(pair.parse('a,x,-1,b,,y')).toEqual([
    { run: 'a', step: null, part: 0 },
    { run: 'b', step: null, part: 0 },
  ]);
  expect(viewport.parse('0.1,nothing,4')).toEqual(WHOLE);
  expect(viewport.parse('0.1,0.2,-4')).toEqual(WHOLE);
});

test('a place in a picture is written short', () => {
  expect(viewport.format({ x: 1 / 3, y: 0.25, zoom: 8 })).toBe('0.33333,0.25,8');
  expect(viewport.parse('0.33333,0.25,8')).toEqual({ x: 0.33333, y: 0.25, zoom: 8 });
});
