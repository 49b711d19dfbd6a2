import { expect, test } from 'vitest';

import { allEntries, entriesAt, stepOf } from './entries';

function series(run: string, ...steps: number[]) {
  const column = Float64Array.from(steps);
  const whole = Int32Array.from(steps.keys());
  return { run, tag: 'words', index: whole, step: column, wallTime: column, mark: whole };
}

const RUNS = [series('a', 0, 10, 20), series('b', 10, 30)];

test('at a step each run shows what it had logged until then', () => {
  const at = (step: number | null) =>
    entriesAt(RUNS, step).map((entry) => [entry.steps.run, stepOf(entry)]);
  expect(at(null)).toEqual([
    ['a', 20],
    ['b', 30],
  ]);
  expect(at(15)).toEqual([
    ['a', 10],
    ['b', 10],
  ]);
  expect(at(5)).toEqual([['a', 0]]);
});

test('all texts are there, newest first', () => {
  expect(allEntries(RUNS).map((entry) => [entry.steps.run, stepOf(entry)])).toEqual([
    ['b', 30],
    ['a', 20],
    ['a', 10],
    ['b', 10],
    ['a', 0],
  ]);
});

test('every text has a key of its own', () => {
  expect(new Set(allEntries(RUNS).map(({ key }) => key)).size).toBe(5);
});
