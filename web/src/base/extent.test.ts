import { expect, test } from 'vitest';

import { extentOf, extentOfMost } from './extent';

test('gaps and numbers that are not finite do not count', () => {
  expect(
    extentOf([
      [null, 3, NaN],
      [-1, Infinity],
    ]),
  ).toEqual({ low: -1, high: 3 });
  expect(extentOf([[null, NaN]])).toBeNull();
});

test('a few strays do not hide the rest', () => {
  const calm = Array.from({ length: 100 }, (_, step) => step / 100);
  expect(extentOfMost([calm])).toEqual({ low: 0, high: 0.99 });
  const extent = extentOfMost([calm, [1e6, null, NaN]]);
  expect(extent?.low).toBe(0);
  expect(extent?.high).toBeLessThan(2);
});

test('numbers that are all the same, or none, have no strays', () => {
  expect(extentOfMost([[3, 3, 3]])).toEqual({ low: 3, high: 3 });
  expect(extentOfMost([[null, NaN]])).toBeNull();
});
