import { expect, test } from 'vitest';

import type { About, Geometry } from '../data/geometry';
import { describe } from './words';

const mesh = (drawable: number, shown: number, faces: number | null): Geometry => ({
  about: { points: drawable, drawable } as About,
  centre: [0, 0, 0],
  scale: 1,
  position: new Float32Array(3 * shown),
  face: faces === null ? null : new Int32Array(3 * faces),
  normal: null,
  color: null,
});

test.each([
  [mesh(4, 4, null), '4 points'],
  [mesh(1, 1, null), '1 point'],
  [mesh(5_000_000, 200_000, null), '200,000 of 5,000,000 points'],
  [mesh(800, 800, 1600), '800 vertices, 1,600 faces'],
])('%#: what there is to see is told in words', (geometry, words) => {
  expect(describe(geometry)).toBe(words);
});
