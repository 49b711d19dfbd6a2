import { expect, test } from 'vitest';

import type { TextHit } from '../../api/schemas';
import { findMatchTarget } from './text-search.svelte';

function hit(run: string, index: number, line: number): TextHit {
  const where = { run, tag: 'words', index, mark: 0, step: index, wall_time: 0, position: [] };
  return { ...where, line, before: '', match: 'x', after: '' };
}

const ONES = Int32Array.of(7, 8);
const STEPS = {
  run: 'a',
  tag: 'words',
  index: ONES,
  step: Float64Array.of(7, 8),
  wallTime: Float64Array.of(0, 0),
  mark: ONES,
};

test('a hit is looked for in its own text only', () => {
  const hits = [hit('b', 7, 1), hit('a', 8, 1), hit('a', 7, 2), hit('a', 7, 9)];
  expect(findMatchTarget(hits, 3, STEPS, 0)).toEqual({ line: 9, before: 1 });
  expect(findMatchTarget(hits, 1, STEPS, 1)).toEqual({ line: 1, before: 0 });
  expect(findMatchTarget(hits, 0, STEPS, 0)).toBe(null);
  expect(findMatchTarget(hits, -1, STEPS, 0)).toBe(null);
});
