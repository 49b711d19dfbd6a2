import { expect, test } from 'vitest';

import type { TextDiffLine } from '../../../api/text';
import { pairLines } from './rows';

function line(kind: TextDiffLine['kind'], words: string): TextDiffLine {
  return { kind, before: null, after: null, parts: [words], lines: 1 };
}

const words = (row: TextDiffLine | null): string | null => row && (row.parts[0] ?? null);

test('removed lines stand beside those that were added in their place', () => {
  const rows = pairLines([
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

test('nothing gives no rows', () => expect(pairLines([])).toEqual([]));
