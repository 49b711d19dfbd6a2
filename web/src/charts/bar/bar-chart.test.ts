import { expect, test } from 'vitest';

import { layoutBars } from './BarChart.svelte';

test('bars start at zero and the longest fills the width', () => {
  expect(layoutBars([1, 4])).toEqual({
    zero: 0,
    bars: [
      { left: 0, width: 0.25 },
      { left: 0, width: 1 },
    ],
  });
});

test('negative bars point to the left', () => {
  const { zero, bars } = layoutBars([-1, 3]);
  expect(zero).toBe(0.25);
  expect(bars).toEqual([
    { left: 0, width: 0.25 },
    { left: 0.25, width: 0.75 },
  ]);
});

test('non-finite values have no bar', () => {
  expect(layoutBars([NaN, Infinity, 2]).bars.map(({ width }) => width)).toEqual([0, 0, 1]);
  expect(layoutBars([]).bars).toEqual([]);
});
