import { expect, test } from 'vitest';

import { measureGrid } from './measures';

test('few runs have large pictures, many have small ones and scroll', () => {
  const place = { width: 800, height: 600 };
  expect(measureGrid(1, 1, place)).toMatchObject({ width: 180, height: 180, fitting: 4 });
  const many = measureGrid(50, 1, place);
  expect(many).toMatchObject({ width: 56, height: 56 });
  expect(many.fitting).toBe(13);
});

test('wide pictures take no more than half of the place', () => {
  expect(measureGrid(1, 10, { width: 300, height: 300 }).width).toBe(150);
});
