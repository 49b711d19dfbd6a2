import { expect, test } from 'vitest';

import { measureGrid } from './measures';

test('few runs have large pictures, many have small ones and scroll', () => {
  const place = { width: 800, height: 600 };
  expect(measureGrid(1, 1, place)).toMatchObject({ width: 180, height: 180, fitting: 4 });
  const many = measureGrid(50, 1, place);
  expect(many).toMatchObject({ width: 56, height: 56 });
  expect(many.fitting).toBe(13);
});

test('a few steps fit, however wide the pictures and the place are', () => {
  for (const width of [300, 301, 302, 303, 520])
    expect(measureGrid(2, 10, { width, height: 450 }).fitting).toBe(4);
  expect(measureGrid(1, 10, { width: 300, height: 300 }).width).toBe(72);
});
