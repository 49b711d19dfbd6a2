import { expect, test } from 'vitest';

import { arrange, arrangeGroups } from './arrange';

const PLAIN = { gap: 0, caption: 0, narrowest: 20, smallest: 15 };

test('one picture has all the place', () => {
  const place = { width: 300, height: 200 };
  expect(arrange(1, 1, place, PLAIN)).toEqual({ columns: 1, rows: 1, ...place });
});

test('pictures stand where they become largest', () => {
  expect(arrange(2, 1, { width: 400, height: 200 }, PLAIN)).toMatchObject({ columns: 2, rows: 1 });
  expect(arrange(2, 1, { width: 200, height: 400 }, PLAIN)).toMatchObject({ columns: 1, rows: 2 });
  expect(arrange(20, 1, { width: 500, height: 400 }, PLAIN)).toMatchObject({ columns: 5, rows: 4 });
  expect(arrange(3, 8, { width: 400, height: 200 }, PLAIN)).toMatchObject({ columns: 1, rows: 3 });
});

test('gaps and captions take their share', () => {
  const spacing = { ...PLAIN, gap: 10, caption: 20 };
  const found = arrange(4, 1, { width: 210, height: 250 }, spacing);
  expect(found).toEqual({ columns: 2, rows: 2, width: 100, height: 120 });
});

test('what would be too small to see is scrolled to instead', () => {
  const spacing = { ...PLAIN, narrowest: 100, smallest: 75 };
  const found = arrange(500, 1, { width: 330, height: 200 }, spacing);
  expect(found).toMatchObject({ columns: 3, rows: 167, width: 110, height: 110 });
});

test('small pictures in large groups are no reason to scroll', () => {
  const digits = { count: 20, aspect: 1, gap: 2 };
  const spacing = { gap: 8, caption: 20, narrowest: 96, smallest: 14 };
  const found = arrangeGroups(3, digits, { width: 318, height: 250 }, spacing);
  expect(found).toMatchObject({ columns: 3, rows: 1, height: 250 });
});

test('groups of pictures are as large as lets the pictures be large', () => {
  const strips = { count: 8, aspect: 1, gap: 0 };
  // Eight pictures a group: groups one below the other, each a row of eight.
  expect(arrangeGroups(2, strips, { width: 400, height: 100 }, PLAIN)).toMatchObject({
    columns: 1,
    rows: 2,
  });
  const single = { count: 1, aspect: 1, gap: 0 };
  expect(arrangeGroups(2, single, { width: 400, height: 200 }, PLAIN).columns).toBe(2);
});

test('a place without any size asks for nothing impossible', () => {
  const found = arrange(3, 1, { width: 0, height: 0 }, PLAIN);
  expect(found.columns).toBe(1);
  expect(found.width).toBeGreaterThan(0);
});
