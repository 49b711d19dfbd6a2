import { expect, test } from 'vitest';

import type { TextDiffLine } from '../../api/schemas';
import {
  alignDiffLines,
  allEntries,
  entriesAt,
  entryStep,
  tablePage,
  tableSize,
  updateSlice,
} from './text-entries';

function series(run: string, ...steps: number[]) {
  const column = Float64Array.from(steps);
  const whole = Int32Array.from(steps.keys());
  return { run, tag: 'words', index: whole, step: column, wallTime: column, mark: whole };
}

const RUNS = [series('a', 0, 10, 20), series('b', 10, 30)];

test('at a step each run shows what it had logged until then', () => {
  const at = (step: number | null) =>
    entriesAt(RUNS, step).map((entry) => [entry.steps.run, entryStep(entry)]);
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
  expect(allEntries(RUNS).map((entry) => [entry.steps.run, entryStep(entry)])).toEqual([
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

function line(kind: TextDiffLine['kind'], words: string): TextDiffLine {
  return { kind, before: null, after: null, parts: [words], lines: 1 };
}

const words = (row: TextDiffLine | null): string | null => row && (row.parts[0] ?? null);

test('removed lines stand beside those that were added in their place', () => {
  const rows = alignDiffLines([
    line('same', 'a'),
    line('removed', 'b'),
    line('removed', 'c'),
    line('added', 'B'),
    line('same', 'd'),
    line('added', 'e'),
  ]);
  expect(rows.map(({ before, after }) => [words(before), words(after)])).toEqual([
    ['a', 'a'],
    ['b', 'B'],
    ['c', null],
    ['d', 'd'],
    [null, 'e'],
  ]);
});

test('nothing gives no rows', () => expect(alignDiffLines([])).toEqual([]));

test('a table of one part has no others', () => {
  expect(tablePage(0, 3, 3, 50)).toEqual({
    first: 0,
    end: 3,
    count: 3,
    previous: null,
    next: null,
  });
});

test('every part of a large one can be reached', () => {
  expect(tablePage(50, 50, 120, 50)).toMatchObject({ previous: 0, next: 100 });
  expect(tablePage(100, 20, 120, 50)).toMatchObject({ previous: 50, next: null });
});

test('a list is one column, and of more dimensions the last two are a table', () => {
  expect(tableSize([4])).toEqual({ rows: 4, columns: 1 });
  expect(tableSize([2, 3])).toEqual({ rows: 2, columns: 3 });
  expect(tableSize([7, 5, 2, 3])).toEqual({ rows: 2, columns: 3 });
});

test('a place is kept inside of its dimension', () => {
  expect(updateSlice([0, 1], [4, 3, 2, 2], 0, 2)).toBe('2,1');
  expect(updateSlice([0, 1], [4, 3, 2, 2], 1, 99)).toBe('0,2');
  expect(updateSlice([0, 1], [4, 3, 2, 2], 0, -1)).toBe('0,1');
});
