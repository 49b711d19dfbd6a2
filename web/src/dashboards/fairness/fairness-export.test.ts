import { expect, test } from 'vitest';

import { toCsv } from '../../cards/export';
import { formatPercent, formatPValue, makeDifferenceRows } from './difference-rows';
import { makeColumn, makeTestDifferences, makeTestResult } from './fairness-fixtures';
import { makeDifferenceTable, toMarkdown } from './fairness-export';

const result = makeTestResult({ Overall: [0.5], 'a|b': [0.25] }, [makeColumn('recall', 0.5)]);
const differences = makeTestDifferences(result, 0);
const rows = makeDifferenceRows(result, differences, [1]);

test('a table has values, intervals and differences', () => {
  const [head, line] = toCsv(makeDifferenceTable(rows)).split('\n');
  expect(head?.split(',').slice(0, 5)).toEqual(['slice', 'metric', 'threshold', 'output', 'value']);
  expect(line?.split(',').slice(0, 8)).toEqual([
    ...['a|b', 'recall', '0.5', '', '0.25', '0.15', '0.35', '900'],
  ]);
  expect(line?.split(',').slice(8)).toEqual(['0.5', '-0.25', '', '', '-0.5', '', '', '']);
});

test('Markdown escapes the separator', () => {
  const text = toMarkdown(rows, () => 'Recall at 0.5');
  expect(text).toContain('| a\\|b | Recall at 0.5 | 0.25 (0.15 to 0.35) | −0.25 | 900 |');
});

test('numbers are formatted with a sign', () => {
  expect([0.123, -0.5, NaN].map(formatPercent)).toEqual(['+12 %', '−50 %', '–']);
  expect([0.0001, 0.04, NaN].map(formatPValue)).toEqual(['< 0.001', '0.04', '–']);
});
