import { expect, test } from 'vitest';

import { atOnce } from '../../../base/pieces';
import { findCommon } from './findings';
import { bestSoFar, rankRows } from './goal';
import { columnOf } from './samples';
import type { Column } from './column';

/** A grid as tutorials have it: accuracy rises with units and learning rate, falls with dropout. */
function grid(): { columns: Column[]; accuracy: Column } {
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
    columnOf('units', units ?? []),
    columnOf('dropout', dropout ?? []),
    columnOf('lr', rate ?? []),
    columnOf('seed', seed ?? []),
  ];
  return { columns, accuracy: columnOf('acc', accuracy ?? [], 'metric') };
}

function rowsUpTo(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, row) => row);
}

test('of a grid it is told what the best have in common, and nothing of what does not matter', () => {
  const { columns, accuracy } = grid();
  const { found, top, judged } = atOnce(
    findCommon({ column: accuracy, isLow: false }, columns, rowsUpTo(36)),
  );
  expect([top.length, judged]).toEqual([8, 36]);
  expect(Object.fromEntries(found.map(({ column, lean }) => [column.key, lean]))).toEqual({
    units: 'high',
    dropout: 'low',
    lr: 'high',
  });
});

test('where less is better the best lean the other way', () => {
  const { columns, accuracy } = grid();
  const loss = { ...accuracy, numbers: accuracy.numbers.map((value) => -value) };
  const { found } = atOnce(findCommon({ column: loss, isLow: true }, columns, rowsUpTo(36)));
  expect(found.find(({ column }) => column.key === 'dropout')?.lean).toBe('low');
});

test('words and values in the middle are found', () => {
  const rows = Array.from({ length: 400 }, (_, row) => row);
  const rate = columnOf(
    'lr',
    rows.map((row) => (row * 37) % 400),
  );
  const optimizer = columnOf(
    'opt',
    rows.map((row) => (row % 3 === 0 ? 'adam' : 'sgd')),
  );
  const metric = columnOf(
    'acc',
    rows.map((row) => -Math.abs(((row * 37) % 400) - 200) + (row % 3 === 0 ? 60 : 0)),
    'metric',
  );
  const { found } = atOnce(
    findCommon({ column: metric, isLow: false }, [rate, optimizer], rowsUpTo(400)),
  );
  expect(found.map(({ lean, word }) => lean ?? word).sort()).toEqual(['adam', 'middle']);
});

test('of few sessions nothing is told', () => {
  const metric = columnOf('acc', [1, 2, 3, 4], 'metric');
  const units = columnOf('units', [1, 2, 3, 4]);
  expect(atOnce(findCommon({ column: metric, isLow: false }, [units], rowsUpTo(4))).found).toEqual(
    [],
  );
});

test('the best come first, and what has no number is not ranked', () => {
  const metric = columnOf('acc', [0.5, NaN, 0.9, null, 0.7], 'metric');
  expect([...rankRows({ column: metric, isLow: false }, rowsUpTo(5))]).toEqual([2, 4, 0]);
  expect([...rankRows({ column: metric, isLow: true }, rowsUpTo(5))]).toEqual([0, 4, 2]);
});

test('records are those better than all that began before', () => {
  const metric = columnOf('acc', [0.5, 0.4, 0.9, NaN, 0.7], 'metric');
  const start = Float64Array.of(30, 10, 20, 5, NaN);
  const { rows, best, records } = bestSoFar({ column: metric, isLow: false }, start, rowsUpTo(5));
  expect([...rows]).toEqual([1, 2, 0, 4]);
  expect([...best]).toEqual([0.4, 0.9, 0.9, 0.9]);
  expect([...records]).toEqual([1, 2]);
});
