import { expect, test } from 'vitest';

import { runToEnd } from '../../../lib/tasks';
import { computeInsights, formatInsightRange, formatTendency, type Insight } from './insights';
import { makeColumn } from './trial-fixtures';
import { computeBestSoFar, rankByObjective, type TrialColumn } from './trials';

/** A grid as tutorials have it: accuracy rises with units and learning rate, falls with dropout. */
function grid(): { columns: TrialColumn[]; accuracy: TrialColumn } {
  const [units, dropout, rate, seed, accuracy]: number[][] = [[], [], [], [], []];
  for (const u of [64, 128, 256, 512])
    for (const d of [0.1, 0.2, 0.4])
      for (const lr of [1e-4, 1e-3, 1e-2]) {
        units?.push(u);
        dropout?.push(d);
        rate?.push(lr);
        seed?.push((u * 7 + d * 310 + lr * 1e5) % 5);
        accuracy?.push(0.3 + 0.06 * Math.log2(u) - 0.35 * d + 0.1 * Math.log10(lr));
      }
  const columns = [
    makeColumn('units', units ?? []),
    makeColumn('dropout', dropout ?? []),
    makeColumn('lr', rate ?? []),
    makeColumn('seed', seed ?? []),
  ];
  return { columns, accuracy: makeColumn('acc', accuracy ?? [], 'metric') };
}

function rowsUpTo(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, row) => row);
}

test('of a grid it is told what the best have in common, and nothing of what does not matter', () => {
  const { columns, accuracy } = grid();
  const { items, topRows, rankedCount } = runToEnd(
    computeInsights({ column: accuracy, minimize: false }, columns, rowsUpTo(36)),
  );
  expect([topRows.length, rankedCount]).toEqual([8, 36]);
  expect(Object.fromEntries(items.map(({ column, tendency }) => [column.key, tendency]))).toEqual({
    units: 'high',
    dropout: 'low',
    lr: 'high',
  });
});

test('where less is better the best lean the other way', () => {
  const { columns, accuracy } = grid();
  const loss = { ...accuracy, values: accuracy.values.map((value) => -value) };
  const { items } = runToEnd(
    computeInsights({ column: loss, minimize: true }, columns, rowsUpTo(36)),
  );
  expect(items.find(({ column }) => column.key === 'dropout')?.tendency).toBe('low');
});

test('words and values in the middle are found', () => {
  const rows = Array.from({ length: 400 }, (_, row) => row);
  const rate = makeColumn(
    'lr',
    rows.map((row) => (row * 37) % 400),
  );
  const optimizer = makeColumn(
    'opt',
    rows.map((row) => (row % 3 === 0 ? 'adam' : 'sgd')),
  );
  const metric = makeColumn(
    'acc',
    rows.map((row) => -Math.abs(((row * 37) % 400) - 200) + (row % 3 === 0 ? 60 : 0)),
    'metric',
  );
  const { items } = runToEnd(
    computeInsights({ column: metric, minimize: false }, [rate, optimizer], rowsUpTo(400)),
  );
  expect(items.map(({ tendency, category }) => tendency ?? category).sort()).toEqual([
    'adam',
    'middle',
  ]);
});

test('of few sessions nothing is told', () => {
  const metric = makeColumn('acc', [1, 2, 3, 4], 'metric');
  const units = makeColumn('units', [1, 2, 3, 4]);
  expect(
    runToEnd(computeInsights({ column: metric, minimize: false }, [units], rowsUpTo(4))).items,
  ).toEqual([]);
});

test('the best come first, and what has no number is not ranked', () => {
  const metric = makeColumn('acc', [0.5, NaN, 0.9, null, 0.7], 'metric');
  expect([...rankByObjective({ column: metric, minimize: false }, rowsUpTo(5))]).toEqual([2, 4, 0]);
  expect([...rankByObjective({ column: metric, minimize: true }, rowsUpTo(5))]).toEqual([0, 4, 2]);
});

test('records are those better than all that began before', () => {
  const metric = makeColumn('acc', [0.5, 0.4, 0.9, NaN, 0.7], 'metric');
  const start = Float64Array.of(30, 10, 20, 5, NaN);
  const { rows, best, improvements } = computeBestSoFar(
    { column: metric, minimize: false },
    start,
    rowsUpTo(5),
  );
  expect([...rows]).toEqual([1, 2, 0, 4]);
  expect([...best]).toEqual([0.4, 0.9, 0.9, 0.9]);
  expect([...improvements]).toEqual([1, 2]);
});

function found(
  title: string,
  values: readonly number[],
  range: readonly [number, number],
): Insight {
  const numbers = Float64Array.from(values);
  const common = { kind: 'hparam', description: '', format: 'value', categories: null } as const;
  const column: TrialColumn = {
    ...common,
    key: title,
    title,
    values: numbers,
    missingMask: null,
    varies: true,
  };
  return { column, tendency: 'high', category: null, range, strength: 1 };
}

test('values that somebody chose are said as they are', () => {
  expect(formatInsightRange(found('units', [64, 128, 256, 512], [256, 512]))).toBe('256 – 512');
  expect(formatInsightRange(found('rate', [0.001, 0.0025], [0.0025, 0.0025]))).toBe('0.0025');
});

test('values that were drawn are said in two digits', () => {
  const drawn = Array.from({ length: 50 }, (_, place) => 0.001 + place / 12345);
  expect(formatInsightRange(found('rate', drawn, [0.002613, 0.007133]))).toBe('0.0026 – 0.0071');
});

test('what is counted is many, what is measured is high', () => {
  expect(formatTendency(found('units', [1, 2], [2, 2]))).toBe('many');
  expect(formatTendency(found('dropout', [1, 2], [2, 2]))).toBe('high');
});
