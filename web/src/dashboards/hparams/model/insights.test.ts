import { expect, test } from 'vitest';

import { runToEnd } from '../../../lib/browser';
import {
  computeDistributions,
  computeInsights,
  findParetoFront,
  formatInsight,
  formatInsightRange,
  type Insight,
  listSplitColumns,
} from './insights';
import { makeColumn } from './trial-test-tools';
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

test('finds the significant tendencies of a grid search', () => {
  const { columns, accuracy } = makeGrid();
  const { items, topRows, rankedCount } = runToEnd(
    computeInsights({ column: accuracy, minimize: false }, columns, listRows(36)),
  );
  expect([topRows.length, rankedCount]).toEqual([8, 36]);
  expect(Object.fromEntries(items.map(({ column, tendency }) => [column.key, tendency]))).toEqual({
    units: 'high',
    lr: 'high',
  });
});

test('a minimized objective has the same tendencies as its negative maximized', () => {
  const { columns, accuracy } = makeGrid();
  const loss = { ...accuracy, values: accuracy.values.map((value) => -value) };
  const { items } = runToEnd(
    computeInsights({ column: loss, minimize: true }, columns, listRows(36)),
  );
  expect(items.find(({ column }) => column.key === 'lr')?.tendency).toBe('high');
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

/** Return what the best trials of a study have in common, as text. */
function listInsights(metric: readonly number[], ...columns: TrialColumn[]): string[] {
  const objective = { column: makeColumn('acc', metric, 'metric'), minimize: false };
  const task = computeInsights(objective, columns, listRows(metric.length));
  return runToEnd(task).items.map(formatInsight);
}

/** Numbers from 0 to 1 in a fixed random order. */
function makeNoise(count: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  });
}

test('a value that is unique or rare among the best is no pattern', () => {
  const metric = makeNoise(80, 3);
  const notes = makeColumn(
    'note',
    metric.map((value, row) => (value > 0.98 ? `try ${row}` : 'baseline')),
  );
  const ids = makeColumn(
    'id',
    metric.map((_, row) => `run ${row}`),
  );
  expect(listInsights(metric, notes, ids)).toEqual([]);
});

test('hashes and paths are no pattern', () => {
  const metric = makeNoise(80, 4);
  const pick = (better: string, worse: string): string[] =>
    metric.map((value) => (value > 0.5 ? better : worse));
  const commit = makeColumn('commit', pick('3f2a9c1', '77b1d0e'));
  const file = makeColumn('config', pick('/home/me/a.yaml', '/home/me/b.yaml'));
  const model = makeColumn('model', pick('google/vit', 'facebook/deit'));
  expect(listInsights(metric, commit, file, model)).toEqual(['google/vit model']);
});

test('a category must be common among the best and rarer among the others', () => {
  const metric = makeNoise(80, 5);
  const everywhere = makeColumn(
    'opt',
    metric.map((value) => (value > 0.97 ? 'sgd' : 'adam')),
  );
  const minority = makeColumn(
    'net',
    metric.map((value, row) => (value > 0.9 ? `net ${row % 3}` : 'plain')),
  );
  expect(listInsights(metric, everywhere, minority)).toEqual([]);
});

test('whether a value is missing is no pattern', () => {
  const metric = makeNoise(80, 6);
  const momentum = makeColumn(
    'momentum',
    metric.map((value) => (value > 0.5 ? 0.9 : null)),
  );
  const schedule = makeColumn(
    'schedule',
    metric.map((value, row) => (value > 0.5 ? (['cosine', 'step'][row % 2] ?? '') : null)),
  );
  expect(listInsights(metric, momentum, schedule)).toEqual([]);
});

test('chance produces hardly any insight', () => {
  let studies = 0;
  for (let seed = 1; seed <= 100; seed++) {
    const noise = makeNoise(60 * 12, seed * 7919);
    const columns = Array.from({ length: 11 }, (_, index) => {
      const values = noise.slice(60 * (index + 1), 60 * (index + 2));
      const isText = index % 3 === 0;
      return makeColumn(
        `h${index}`,
        isText ? values.map((value) => `c${Math.floor(value * 4)}`) : values,
      );
    });
    studies += Number(listInsights(noise.slice(0, 60), ...columns).length > 0);
  }
  expect(studies).toBeLessThan(10);
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
  return { column, tendency: 'high', category: null, range, probability: 0.001 };
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

test('the range of three best trials has all of them', () => {
  const values = [0.3064, 0.3106, 0.3218, 0.4, 0.49, 0.63, 0.64, 0.65, 0.71, 0.72, 0.77, 0.87];
  const [x, loss] = [makeColumn('x', values), makeColumn('loss', values, 'metric')];
  const { items } = runToEnd(
    computeInsights({ column: loss, minimize: true }, [x], listRows(values.length)),
  );
  expect(items.map(({ range }) => range)).toEqual([[0.3064, 0.3218]]);
});

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
