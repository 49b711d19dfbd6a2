import { expect, test } from 'vitest';

import { countFlips, listDisagreements } from './model-comparison';

const predicted = (...codes: number[]) => ({
  name: 'predicted',
  numbers: null,
  codes: Int32Array.from(codes),
  categories: ['0', '1'],
});
const score = (...values: number[]) => ({
  name: 'score',
  numbers: Float64Array.from(values),
  codes: null,
  categories: [],
});
const ROWS = Int32Array.of(0, 2, 5);

test('the largest disagreement comes first', () => {
  const one = { predicted: predicted(0, 1, 0), score: score(0.4, 0.9, 0.1) };
  const other = { predicted: predicted(1, 1, 1), score: score(0.6, 0.8, 0.9) };
  const { rows, count } = listDisagreements(ROWS, [one, other], 10);
  expect(count).toBe(2);
  expect(rows.map(({ row }) => row)).toEqual([5, 0]);
  expect(rows[0]?.difference).toBeCloseTo(0.8);
});

test('regression models differ by their values', () => {
  const one = { predicted: null, score: score(1, 2, 3) };
  const other = { predicted: null, score: score(1, 4, 2) };
  const { rows, count } = listDisagreements(ROWS, [one, other], 1);
  expect(count).toBe(2);
  expect(rows.map(({ row }) => row)).toEqual([2]);
});

test('several models are compared with the first one', () => {
  const one = { predicted: predicted(0, 1, 0), score: score(0.4, 0.9, 0.1) };
  const same = { predicted: predicted(0, 1, 0), score: score(0.3, 0.9, NaN) };
  const other = { predicted: predicted(0, 0, 1), score: score(0.3, 0.4, 0.8) };
  const { rows, count } = listDisagreements(ROWS, [one, same, other], 10);
  expect(count).toBe(2);
  expect(rows.map(({ row }) => row)).toEqual([5, 2]);
  expect(rows[1]?.classes).toEqual(['1', '1', '0']);
  expect(rows[1]?.difference).toBeCloseTo(-0.5);
});

test('flips are counted by class', () => {
  const { classes, weight } = countFlips(predicted(0, 1, 0), predicted(1, 1, 0));
  expect(classes).toEqual(['0', '1']);
  expect(weight).toEqual([1, 1, 0, 1]);
});
