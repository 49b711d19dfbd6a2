import { expect, test } from 'vitest';

import {
  getItemOffsets,
  getScrollTop,
  getVisibleItems,
  getVisibleRows,
  ItemHeights,
} from './virtual-list';

const KEYS = ['a', 'b', 'c', 'd'];

test('unknown heights are estimated from known ones', () => {
  const heights = new ItemHeights();
  expect(heights.get('a', 50)).toBe(50);
  expect(heights.set('a', 100)).toBe(true);
  expect(heights.set('b', 200)).toBe(true);
  expect(heights.set('b', 200)).toBe(false);
  expect([heights.get('a', 50), heights.get('c', 50)]).toEqual([100, 150]);
});

test('offsets add up heights', () => {
  const heights = new ItemHeights();
  heights.set('a', 100);
  expect([...getItemOffsets(KEYS, heights, 50)]).toEqual([0, 100, 200, 300, 400]);
});

test('visible items are those between two positions', () => {
  const offsets = Float64Array.of(0, 100, 200, 300, 400);
  expect(getVisibleItems(offsets, 0, 150)).toEqual({ first: 0, end: 2 });
  expect(getVisibleItems(offsets, 150, 250)).toEqual({ first: 1, end: 3 });
  expect(getVisibleItems(offsets, 1000, 1100)).toEqual({ first: 4, end: 4 });
  expect(getVisibleItems(Float64Array.of(0), 0, 100)).toEqual({ first: 0, end: 0 });
});

test('only rows near the viewport are rendered', () => {
  expect(getVisibleRows(0, 280, 28, 10_000, 5)).toEqual({ first: 0, end: 15 });
  expect(getVisibleRows(2800, 280, 28, 10_000, 5)).toEqual({ first: 95, end: 115 });
  expect(getVisibleRows(280_000 - 280, 280, 28, 10_000, 5)).toEqual({ first: 9985, end: 10_000 });
});

test('a list that shrank below the scroll position has a valid range', () => {
  expect(getVisibleRows(5000, 280, 28, 3, 5)).toEqual({ first: 3, end: 3 });
});

test('a visible row does not scroll', () => {
  expect(getScrollTop(3, 28, 0, 280)).toBe(0);
  expect(getScrollTop(10, 28, 0, 280)).toBe(28);
  expect(getScrollTop(3, 28, 280, 280)).toBe(84);
});
