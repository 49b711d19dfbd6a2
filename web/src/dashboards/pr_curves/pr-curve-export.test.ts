import { expect, test } from 'vitest';

import { toCsv, toJson } from '../../cards/export';
import { curvesToPython, makeCurvesTable } from './pr-curve-export';
import { makeTestCurve } from './pr-curve-fixtures';

const table = makeCurvesTable([makeTestCurve('a,"b"'), makeTestCurve('c', { columns: null })]);

test('there is a row for each threshold', () => {
  const [head, ...rows] = toCsv(table).trimEnd().split('\n');
  expect(head).toBe(
    'run,tag,step,threshold,true_positives,false_positives,true_negatives,false_negatives,' +
      'precision,recall,f1,false_positive_rate',
  );
  expect(rows).toHaveLength(3);
  expect(rows[1]).toBe('"a,""b""",pr/cat,10,0.5,1,0,2,1,1,0.5,0.6666666666666666,0');
});

test('what is not defined is left empty', () => {
  expect(toCsv(table).trimEnd().split('\n')[3]).toBe('"a,""b""",pr/cat,10,1,0,0,2,2,,0,0,0');
  expect((JSON.parse(toJson(table)) as { precision: number | null }[])[2]?.precision).toBeNull();
});

const roots = [{ name: '', path: '/logs' }];
const series = [
  { run: 'a', tag: 'pr/"x"' },
  { run: 'b', tag: 'pr/"x"' },
];

test('every curve that is seen is read', () => {
  const code = curvesToPython({ roots, series, step: null });
  expect(code).toContain('("a", "pr/\\"x\\""),\n    ("b", "pr/\\"x\\""),');
  expect(code).toContain('curves[-1]');
});

test('at a step it is the last one until then', () => {
  expect(curvesToPython({ roots, series, step: 70 })).toContain(
    '(curves.step <= 70).nonzero()[0][-1]',
  );
});
