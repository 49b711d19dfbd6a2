import { expect, test } from 'vitest';

import { Columns } from './columns';

function columnsOf(x: number[], low: number[], high: number[], count = 6): number[][] {
  const columns = new Columns(count, 1);
  const [a, b, c] = [x, low, high].map((values) => Float32Array.from(values));
  if (a && b && c) columns.add({ x: a, low: b, high: c, length: x.length });
  const { points, length } = columns.toPath();
  const found: number[][] = [];
  for (let at = 0; at < length; at += 6)
    found.push([points[at] ?? NaN, points[at + 1] ?? NaN, points[at + 3] ?? NaN]);
  return found;
}

test('between points an area reaches as far as the straight lines between them', () => {
  expect(columnsOf([0, 2], [0, 2], [10, 8])).toEqual([
    [0.5, 0, 10],
    [1.5, 1, 9],
    [2.5, 2, 8],
  ]);
});

test('a column with several points has the extremes of all', () => {
  expect(columnsOf([1.1, 1.2, 1.3], [5, 1, 5], [6, 6, 9])).toEqual([[1.5, 1, 9]]);
});

test('gaps stay empty, and what is outside is left out', () => {
  expect(columnsOf([-9, 0, 1, 2, 4, 90], [1, 1, NaN, 1, 1, 1], [2, 2, NaN, 2, 2, 2], 4)).toEqual([
    [0.5, 1, 2],
    [2.5, 1, 2],
    [3.5, 1, 2],
  ]);
});
