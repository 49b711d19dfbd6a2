import { expect, test } from 'vitest';

import { adjustPValues, rankGaps, selectDifferences } from './differences';
import { makeColumn, makeTestResult, makeTestDifferences } from './fairness-fixtures';

const values = Float64Array.of(0.01, NaN, 0.04, 0.03);
const round = (list: Float64Array): string[] => Array.from(list, (one) => one.toFixed(4));

// The same numbers as `adjust_p_values` of the Python package returns.
test.each([
  ['holm', ['0.0300', 'NaN', '0.0600', '0.0600']],
  ['bonferroni', ['0.0300', 'NaN', '0.1200', '0.0900']],
  ['benjamini-hochberg', ['0.0300', 'NaN', '0.0400', '0.0400']],
  ['none', ['0.0100', 'NaN', '0.0400', '0.0300']],
] as const)('adjusts p-values with %s', (correction, expected) => {
  expect(round(adjustPValues(values, correction))).toEqual(expected);
});

test('gaps are ranked by significance, then by size; counts and the baseline are left out', () => {
  const difference = Float64Array.of(0, 0, -0.1, 50, 0.4, 60, 0.2, 70);
  const adjusted = Float64Array.of(NaN, NaN, 0.01, 0, 0.2, 0, 0.02, 0);
  const gaps = rankGaps(difference, adjusted, ['auc', 'example_count'], {
    isBaseline: (slice) => slice === 0,
    level: 0.05,
  });
  expect(gaps.map(({ slice, significant }) => [slice, significant])).toEqual([
    [3, true],
    [1, true],
    [2, false],
  ]);
});

const result = makeTestResult({ Overall: [0.5, 1], F: [0.25, 0] }, [
  makeColumn('auc'),
  makeColumn('accuracy', 0.5),
]);

test('the correction counts the selected columns only', () => {
  const all = {
    ...makeTestDifferences(result, 0),
    p_value: Float64Array.of(NaN, NaN, 0.04, 0.04),
  };
  const request = { id: 'a', baseline: 'Overall', correction: 'bonferroni' } as const;
  const both = selectDifferences(all, result, request);
  expect([both.comparisons, both.adjusted_p_value[2], both.gaps[0]?.significant]).toEqual([
    2,
    0.08,
    false,
  ]);
  const one = selectDifferences(all, result, { ...request, columns: [1] });
  expect([one.comparisons, one.columns, [...one.difference]]).toEqual([1, [1], [0, -1]]);
  expect(one.gaps).toEqual([{ slice: 1, column: 0, difference: -1, significant: true }]);
});
