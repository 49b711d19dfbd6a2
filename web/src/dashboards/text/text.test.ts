import { expect, test } from 'vitest';

import type { TextDiffLine, TextHit } from '../../api/schemas';
import {
  alignDiffLines,
  listAllEntries,
  listEntriesAt,
  getEntryStep,
  findSpans,
  shiftHeadingLevels,
  getTablePage,
  getTableSize,
  updateSlice,
} from './text-entries';
import {
  findDefaultTextPair,
  findMatchTarget,
  textPairCodec,
  makeTextPythonCode,
} from './text-state.svelte';

function makeSteps(run: string, ...steps: number[]) {
  const step = Float64Array.from(steps);
  const index = Int32Array.from(steps.keys());
  return { run, tag: 'notes', index, step, wallTime: step, fingerprint: index };
}

const RUNS = [makeSteps('a', 0, 10, 20), makeSteps('b', 10, 30)];

test('at a step, each run has its last text up to that step', () => {
  const listAt = (step: number | null) =>
    listEntriesAt(RUNS, step).map((entry) => [entry.steps.run, getEntryStep(entry)]);
  expect(listAt(null)).toEqual([
    ['a', 20],
    ['b', 30],
  ]);
  expect(listAt(15)).toEqual([
    ['a', 10],
    ['b', 10],
  ]);
  expect(listAt(5)).toEqual([['a', 0]]);
});

test('all texts are listed, newest first', () => {
  expect(listAllEntries(RUNS).map((entry) => [entry.steps.run, getEntryStep(entry)])).toEqual([
    ['b', 30],
    ['a', 20],
    ['a', 10],
    ['b', 10],
    ['a', 0],
  ]);
});

test('every text has its own key', () => {
  expect(new Set(listAllEntries(RUNS).map(({ key }) => key)).size).toBe(5);
});

function line(kind: TextDiffLine['kind'], text: string): TextDiffLine {
  return { kind, before: null, after: null, parts: [text], lines: 1 };
}

const lineText = (row: TextDiffLine | null): string | null => row && (row.parts[0] ?? null);

test('removed lines are next to the lines that replace them', () => {
  const rows = alignDiffLines([
    line('same', 'a'),
    line('removed', 'b'),
    line('removed', 'c'),
    line('added', 'B'),
    line('same', 'd'),
    line('added', 'e'),
  ]);
  expect(rows.map(({ before, after }) => [lineText(before), lineText(after)])).toEqual([
    ['a', 'a'],
    ['b', 'B'],
    ['c', null],
    ['d', 'd'],
    [null, 'e'],
  ]);
});

test('a diff without lines has no rows', () => expect(alignDiffLines([])).toEqual([]));

test('a small table has one page', () => {
  expect(getTablePage(0, 3, 3, 50)).toEqual({
    first: 0,
    end: 3,
    count: 3,
    previous: null,
    next: null,
  });
});

test('pages of a large table are linked', () => {
  expect(getTablePage(50, 50, 120, 50)).toMatchObject({ previous: 0, next: 100 });
  expect(getTablePage(100, 20, 120, 50)).toMatchObject({ previous: 50, next: null });
});

test('a list is one column, and the last two of several dimensions are a table', () => {
  expect(getTableSize([4])).toEqual({ rows: 4, columns: 1 });
  expect(getTableSize([2, 3])).toEqual({ rows: 2, columns: 3 });
  expect(getTableSize([7, 5, 2, 3])).toEqual({ rows: 2, columns: 3 });
});

test('an index is clamped to its dimension', () => {
  expect(updateSlice([0, 1], [4, 3, 2, 2], 0, 2)).toBe('2,1');
  expect(updateSlice([0, 1], [4, 3, 2, 2], 1, 99)).toBe('0,2');
  expect(updateSlice([0, 1], [4, 3, 2, 2], 0, -1)).toBe('0,1');
});

test.each([
  null,
  { before: { run: 'a,b', step: null }, after: { run: 'c', step: 40 } },
  { before: { run: '', step: 0 }, after: { run: '', step: -1 } },
])('a pair in the URL is parsed as it was formatted', (pair) => {
  expect(textPairCodec.parse(textPairCodec.format(pair))).toEqual(pair);
});

test('an invalid pair in the URL is ignored', () => {
  expect(textPairCodec.parse('a')).toBe(null);
  expect(textPairCodec.parse('a,x,b,y')).toEqual({
    before: { run: 'a', step: null },
    after: { run: 'b', step: null },
  });
});

test('two runs are compared at the same step, one run at its last two steps', () => {
  expect(findDefaultTextPair([], null)).toBe(null);
  expect(findDefaultTextPair([makeSteps('a', 1, 2), makeSteps('b', 1)], 2)).toEqual({
    before: { run: 'a', step: 2 },
    after: { run: 'b', step: 2 },
  });
  expect(findDefaultTextPair([makeSteps('a', 1, 5, 9)], null)).toEqual({
    before: { run: 'a', step: 5 },
    after: { run: 'a', step: null },
  });
  expect(findDefaultTextPair([makeSteps('a', 1)], null)?.before.step).toBe(1);
});

function makeHit(run: string, index: number, line: number): TextHit {
  const location = { run, tag: 'notes', index, mark: 0, step: index, wall_time: 0, position: [] };
  return { ...location, line, before: '', match: 'x', after: '' };
}

test('a match is found in its own text only', () => {
  const steps = { ...makeSteps('a', 7, 8), index: Int32Array.of(7, 8) };
  const hits = [makeHit('b', 7, 1), makeHit('a', 8, 1), makeHit('a', 7, 2), makeHit('a', 7, 9)];
  expect(findMatchTarget(hits, 3, steps, 0)).toEqual({ line: 9, before: 1 });
  expect(findMatchTarget(hits, 1, steps, 1)).toEqual({ line: 1, before: 0 });
  expect(findMatchTarget(hits, 0, steps, 0)).toBe(null);
  expect(findMatchTarget(hits, -1, steps, 0)).toBe(null);
});

test.each([
  [[], []],
  [
    [1, 2, 2, 1],
    [4, 5, 5, 4],
  ],
  [[2], [4]],
  [
    [1, 3, 6],
    [4, 5, 6],
  ],
  [
    [4, 1, 4],
    [4, 4, 5],
  ],
])('headings of levels %j become %j below a card', (levels, shifted) => {
  expect(shiftHeadingLevels(levels, 3)).toEqual(shifted);
});

test('all occurrences are found', () => {
  expect(findSpans('a cat, a CAT', ['cat'], false)).toEqual([
    { start: 2, stop: 5 },
    { start: 9, stop: 12 },
  ]);
  expect(findSpans('a cat, a CAT', ['cat'], true)).toEqual([{ start: 2, stop: 5 }]);
});

test('spans of several terms do not overlap', () => {
  expect(findSpans('abcd', ['bc', 'abc', 'd'], false)).toEqual([
    { start: 0, stop: 3 },
    { start: 3, stop: 4 },
  ]);
});

test('letters that are longer in lower case do not shift offsets', () => {
  expect(findSpans('İİ cat', ['CAT'], false)).toEqual([{ start: 3, stop: 6 }]);
});

test('an empty term is not found', () => expect(findSpans('abc', [''], false)).toEqual([]));

test('Python code reads the texts of all runs', () => {
  const roots = [{ name: '', path: '/logs' }];
  expect(makeTextPythonCode({ roots, runs: ['a', 'b"c'], tag: 'notes' })).toBe(
    [
      'import tracklight',
      '',
      'log = tracklight.open("/logs")',
      'for run in ["a", "b\\"c"]:',
      '    texts = log.text(run, "notes")',
      '    for step, text in zip(texts.step, texts):',
      '        print(run, step, text)  # array of strings; rank 0 for a plain text',
      '',
    ].join('\n'),
  );
});
