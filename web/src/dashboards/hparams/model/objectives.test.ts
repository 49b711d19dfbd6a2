import { expect, test } from 'vitest';

import { computeDistributions, findParetoFront, listSplitColumns } from './objectives';
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

const LOSS = makeColumn('loss', [3, 1, NaN, 2, 2], 'metric');
const ROWS = Int32Array.from([0, 1, 2, 3, 4]);

test('a distribution has the share of trials up to each value', () => {
  const [all] = computeDistributions(LOSS, null, ROWS);
  expect(all).toEqual({
    label: null,
    values: Float64Array.of(1, 2, 2, 3),
    shares: Float64Array.of(0.25, 0.5, 0.75, 1),
    median: 2,
  });
  expect(computeDistributions(LOSS, null, Int32Array.of(2))).toEqual([]);
});

test('trials are split by a column', () => {
  const optimizer = makeColumn('optimizer', ['sgd', 'adam', 'lamb', 'adam', 'sgd']);
  const split = computeDistributions(LOSS, optimizer, ROWS);
  expect(split.map(({ label, values }) => [label, [...values]])).toEqual([
    ['adam', [1, 2]],
    ['sgd', [2, 3]],
  ]);
});

test('columns of numbers or with many values cannot split', () => {
  const many = makeColumn(
    'hash',
    Array.from({ length: 40 }, (_, index) => `h${index}`),
  );
  const few = makeColumn('optimizer', ['sgd', 'adam']);
  expect(listSplitColumns([many, few, makeColumn('lr', [1, 2]), LOSS])).toEqual([few]);
});
