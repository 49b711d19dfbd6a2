import { expect, test } from 'vitest';

import { extentOf } from './extent';

test('gaps and numbers that are not finite do not count', () => {
  expect(
    extentOf([
      [null, 3, NaN],
      [-1, Infinity],
    ]),
  ).toEqual({ low: -1, high: 3 });
  expect(extentOf([[null, NaN]])).toBeNull();
});
