import { expect, test } from 'vitest';

import { computeDistributions, listSplitColumns } from './distribution';
import { makeColumn } from './trial-fixtures';

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
