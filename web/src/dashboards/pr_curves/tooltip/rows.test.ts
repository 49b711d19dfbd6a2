import { expect, test } from 'vitest';

import { readAt } from '../curve/curve';
import { sampleCurve } from '../curve/sample';
import { cellsOf, columnsOf } from './columns';
import { pickRows } from './rows';

const readings = ['a', 'b', 'c'].flatMap((run) => readAt(sampleCurve(run), 0.5) ?? []);

test('where all fit they keep their order', () => {
  expect(pickRows(readings, 'c\npr/cat', 3)).toEqual({ rows: readings, more: 0 });
});

test('where they do not, the nearest is always told', () => {
  const { rows, more } = pickRows(readings, 'c\npr/cat', 2);
  expect(rows.map(({ label }) => label)).toEqual(['c', 'a']);
  expect(more).toBe(1);
});

test('what is not defined is a dash', () => {
  const [last] = ['a'].flatMap((run) => readAt(sampleCurve(run), 1) ?? []);
  if (!last) throw new Error('no reading');
  expect(cellsOf(last, columnsOf('PR'))).toEqual(['–', '0', '0', '0', '0', '2', '2']);
  expect(cellsOf(last, columnsOf('ROC'))).toEqual(['0', '0', '0', '0', '0', '2', '2']);
});
