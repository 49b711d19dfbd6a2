import { expect, test } from 'vitest';

import { getCell } from './evaluation-model';
import { makeColumn, makeTestResult } from './fairness-fixtures';
import { computeDifferences, getHalfWidth, getTwoSidedPValue } from './static-differences';

const REPLICATES = Float64Array.of(0.5, 0.2, 0.55, 0.3, 0.45, 0.28);
const paired = makeTestResult({ Overall: [0.5], F: [0.25] }, [makeColumn('auc')], {
  samples: 3,
  replicates: REPLICATES,
});

function compare(result: typeof paired, slice: number) {
  const { difference, lower, upper, relative_lower, relative_upper, p_value } = computeDifferences(
    result,
    { slice, getValue: (_, column) => getCell(result, slice, column) },
  );
  const other = 1 - slice;
  return [difference, lower, upper, relative_lower, relative_upper, p_value].map(
    (values) => values[other] ?? NaN,
  );
}

function expectClose(values: readonly number[], expected: readonly number[]): void {
  expect(values.length).toBe(expected.length);
  values.forEach((value, at) => {
    expect(value).toBeCloseTo(expected[at] ?? NaN, 9);
  });
}

// The expected numbers are those of the server.
test('jackknife replicates give the interval of the difference', () => {
  expectClose(compare(paired, 0), [
    ...[-0.25, -0.575791606614, 0.075791606614, -1.060751623706, 0.060751623706],
    0.08077466633,
  ]);
  expectClose(compare(paired, 1), [
    ...[0.25, -0.075791606614, 0.575791606614, -1.306193725832, 3.306193725832],
    0.08077466633,
  ]);
});

test('bootstrap replicates have another standard error', () => {
  expectClose(compare({ ...paired, method: 'bootstrap' }, 1), [
    ...[0.25, -0.032143807668, 0.532143807668, -0.997222352619, 2.997222352619],
    0.062426749228,
  ]);
});

test('without replicates, intervals are combined', () => {
  const expected = [0.25, 0.108578643763, 0.391421356237, 0.434314575051, 1.565685424949];
  expectClose(compare({ ...paired, replicates: null }, 1), [...expected, 0.016849677787]);
  const negative = {
    ...paired,
    replicates: null,
    value: paired.value.map((value) => -value),
    lower: paired.upper.map((value) => -value),
    upper: paired.lower.map((value) => -value),
  };
  expectClose(compare(negative, 1).slice(3, 5), [0.434314575051, 1.565685424949]);
});

test('a slice has no interval of the difference to itself, and none to an undefined value', () => {
  const own = computeDifferences(paired, { slice: 0, getValue: (_, at) => getCell(paired, 0, at) });
  expect([own.lower[0], own.upper[0], own.p_value[0]]).toEqual([0, 0, NaN]);
  const unknown = { value: NaN, lower: NaN, upper: NaN };
  const none = computeDifferences(paired, { slice: -1, getValue: () => unknown });
  expect([...none.difference, ...none.lower, ...none.p_value].every(Number.isNaN)).toBe(true);
});

test('a value without variation has no interval of the difference', () => {
  const constant = makeTestResult({ Overall: [0.5], F: [1] }, [makeColumn('auc')], {
    samples: 3,
    lower: Float64Array.of(0.4, 1),
    upper: Float64Array.of(0.6, 1),
    replicates: Float64Array.of(0.5, 1, 0.55, 1, 0.45, 1),
  });
  expect(compare(constant, 0)).toEqual([0.5, NaN, NaN, NaN, NaN, NaN]);
});

test('a baseline of 0 has no relative difference', () => {
  const zero = makeTestResult({ Overall: [0], F: [0.25] }, [makeColumn('auc')]);
  expect(compare(zero, 0).slice(3, 5)).toEqual([NaN, NaN]);
});

test("quantiles and p-values of Student's t", () => {
  expect(getHalfWidth(0.95, 19)).toBeCloseTo(2.0930240544083083, 10);
  expect(getHalfWidth(0.9, 2)).toBeCloseTo(2.919985580353726, 10);
  expect(getTwoSidedPValue(0.5, 19)).toBeCloseTo(0.6228164912864429, 12);
  expect(getTwoSidedPValue(2.5, 19)).toBeCloseTo(0.02174041116839737, 12);
  expect(getTwoSidedPValue(12, 19) / 2.5908946372221826e-10).toBeCloseTo(1, 8);
  expect(getTwoSidedPValue(NaN, 19)).toBeNaN();
});
