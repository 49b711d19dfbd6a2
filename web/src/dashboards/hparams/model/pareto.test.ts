import { expect, test } from 'vitest';

import { findParetoFront } from './pareto';
import { makeColumn } from './trial-fixtures';

const ALL = Int32Array.from([0, 1, 2, 3, 4, 5, 6]);

test('keeps the trials that no other dominates, the best in the first objective first', () => {
  const latency = makeColumn('latency', [1, 2, 3, 2, 4, null, NaN], 'metric');
  const score = makeColumn('score', [1, 3, 2, 3, 4, 9, 9], 'metric');
  const objectives = [
    { column: latency, minimize: true },
    { column: score, minimize: false },
  ];
  expect([...findParetoFront(objectives, ALL)]).toEqual([0, 1, 3, 4]);
  expect([
    ...findParetoFront(
      objectives,
      ALL.filter((row) => row !== 0 && row !== 1),
    ),
  ]).toEqual([3, 4]);
  expect([...findParetoFront([], ALL)]).toEqual([]);
});

test('agrees with a comparison of all pairs in three objectives', () => {
  const count = 400;
  let state = 7;
  const next = (): number => (state = (state * 1103515245 + 12345) % 2147483648) % 12;
  const objectives = [true, false, true].map((minimize, index) => ({
    column: makeColumn(`m${index}`, Array.from({ length: count }, next), 'metric'),
    minimize,
  }));
  const cost = (index: number, row: number): number => {
    const objective = objectives[index];
    const value = objective?.column.values[row] ?? NaN;
    return objective?.minimize ? value : -value;
  };
  const rows = Int32Array.from({ length: count }, (_, row) => row);
  const expected = [...rows].filter(
    (row) =>
      ![...rows].some(
        (other) =>
          [0, 1, 2].every((index) => cost(index, other) <= cost(index, row)) &&
          [0, 1, 2].some((index) => cost(index, other) < cost(index, row)),
      ),
  );
  const front = [...findParetoFront(objectives, rows)].sort((a, b) => a - b);
  expect(front).toEqual(expected);
  expect(front.length).toBeGreaterThan(3);
});
