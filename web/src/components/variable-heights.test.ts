import { expect, test } from 'vitest';

import { ItemHeights, visibleItems, itemOffsets } from './variable-heights';

const KEYS = ['a', 'b', 'c', 'd'];

test('unknown heights are estimated from known ones', () => {
  const heights = new ItemHeights();
  expect(heights.get('a', 50)).toBe(50);
  expect(heights.set('a', 100)).toBe(true);
  expect(heights.set('b', 200)).toBe(true);
  expect(heights.set('b', 200)).toBe(false);
  expect([heights.get('a', 50), heights.get('c', 50)]).toEqual([100, 150]);
});

test('offsets add up heights and gaps', () => {
  const heights = new ItemHeights();
  heights.set('a', 100);
  expect([...itemOffsets(KEYS, heights, 50, 10)]).toEqual([0, 110, 220, 330, 440]);
});

test('visible items are those between two positions', () => {
  const offsets = Float64Array.of(0, 100, 200, 300, 400);
  expect(visibleItems(offsets, 0, 150)).toEqual({ first: 0, end: 2 });
  expect(visibleItems(offsets, 150, 250)).toEqual({ first: 1, end: 3 });
  expect(visibleItems(offsets, 1000, 1100)).toEqual({ first: 4, end: 4 });
  expect(visibleItems(Float64Array.of(0), 0, 100)).toEqual({ first: 0, end: 0 });
});
