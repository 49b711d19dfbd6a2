import { expect, test } from 'vitest';

import { runToEnd } from '../../../lib/tasks';
import { computeInsights, formatInsight, formatInsightRange, type Insight } from './insights';
import { makeColumn } from './trial-fixtures';
import { computeBestSoFar, rankByObjective, type TrialColumn } from './trials';

/** A grid search: accuracy rises with units and learning rate, and falls with dropout. */
function makeGrid(): { columns: TrialColumn[]; accuracy: TrialColumn } {
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

function listRows(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, row) => row);
}

test('finds the tendencies of a grid search, and none of the irrelevant column', () => {
  const { columns, accuracy } = makeGrid();
  const { items, topRows, rankedCount } = runToEnd(
    computeInsights({ column: accuracy, minimize: false }, columns, listRows(36)),
  );
  expect([topRows.length, rankedCount]).toEqual([8, 36]);
  expect(Object.fromEntries(items.map(({ column, tendency }) => [column.key, tendency]))).toEqual({
    units: 'high',
    dropout: 'low',
    lr: 'high',
  });
});

test('a minimized objective has the same tendencies as its negative maximized', () => {
  const { columns, accuracy } = makeGrid();
  const loss = { ...accuracy, values: accuracy.values.map((value) => -value) };
  const { items } = runToEnd(
    computeInsights({ column: loss, minimize: true }, columns, listRows(36)),
  );
  expect(items.find(({ column }) => column.key === 'dropout')?.tendency).toBe('low');
});

test('finds categories and values in the middle', () => {
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
    computeInsights({ column: metric, minimize: false }, [rate, optimizer], listRows(400)),
  );
  expect(items.map(({ tendency, category }) => tendency ?? category).sort()).toEqual([
    'adam',
    'middle',
  ]);
});

test('few trials have no insights', () => {
  const metric = makeColumn('acc', [1, 2, 3, 4], 'metric');
  const units = makeColumn('units', [1, 2, 3, 4]);
  expect(
    runToEnd(computeInsights({ column: metric, minimize: false }, [units], listRows(4))).items,
  ).toEqual([]);
});

test('ranks the best first, without trials that have no finite value', () => {
  const metric = makeColumn('acc', [0.5, NaN, 0.9, null, 0.7], 'metric');
  expect([...rankByObjective({ column: metric, minimize: false }, listRows(5))]).toEqual([2, 4, 0]);
  expect([...rankByObjective({ column: metric, minimize: true }, listRows(5))]).toEqual([0, 4, 2]);
});

test('improvements are better than all trials that started before', () => {
  const metric = makeColumn('acc', [0.5, 0.4, 0.9, NaN, 0.7], 'metric');
  const start = Float64Array.of(30, 10, 20, 5, NaN);
  const { rows, best, improvements } = computeBestSoFar(
    { column: metric, minimize: false },
    start,
    listRows(5),
  );
  expect([...rows]).toEqual([1, 2, 0, 4]);
  expect([...best]).toEqual([0.4, 0.9, 0.9, 0.9]);
  expect([...improvements]).toEqual([1, 2]);
});

function makeInsight(
  title: string,
  values: readonly number[],
  range: readonly [number, number],
): Insight {
  const base = { kind: 'hparam', description: '', format: 'value', categories: null } as const;
  const column: TrialColumn = {
    ...base,
    key: title,
    title,
    values: Float64Array.from(values),
    missingMask: null,
    varies: true,
  };
  return { column, tendency: 'high', category: null, range, strength: 1 };
}

test('ranges of grid values have all digits', () => {
  expect(formatInsightRange(makeInsight('units', [64, 128, 256, 512], [256, 512]))).toBe(
    '256 – 512',
  );
  expect(formatInsightRange(makeInsight('rate', [0.001, 0.0025], [0.0025, 0.0025]))).toBe('0.0025');
});

test('ranges of random values have two digits', () => {
  const random = Array.from({ length: 50 }, (_, index) => 0.001 + index / 12345);
  expect(formatInsightRange(makeInsight('rate', random, [0.002613, 0.007133]))).toBe(
    '0.0026 – 0.0071',
  );
});

test('counts are many, other values are high', () => {
  expect(formatInsight(makeInsight('units', [1, 2], [2, 2]))).toBe('many units');
  expect(formatInsight(makeInsight('dropout', [1, 2], [2, 2]))).toBe('high dropout');
});
