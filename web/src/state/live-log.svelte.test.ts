import { expect, test } from 'vitest';

import type { RunRow } from '../api/schemas';
import { applyDelta } from './live-log.svelte';

const run = (name: string, points: number): RunRow => ({
  name,
  points,
  start_wall: null,
  last_wall: null,
  files: 1,
  bytes: 1,
  tags: 1,
  damaged: 0,
});

test('changed runs keep their place', () => {
  const before = [run('b', 5), run('a', 5)];
  const after = applyDelta(before, {
    added: [],
    removed: [],
    changed: [run('a', 6)],
  });
  expect(after.map(({ name, points }) => [name, points])).toEqual([
    ['b', 5],
    ['a', 6],
  ]);
});

test('added and removed runs keep the natural order', () => {
  const before = [run('run2', 5), run('run10', 5)];
  const after = applyDelta(before, {
    added: [run('run3', 1)],
    removed: ['run10'],
    changed: [run('run2', 6)],
  });
  expect(after.map(({ name, points }) => [name, points])).toEqual([
    ['run2', 6],
    ['run3', 1],
  ]);
  expect(before).toHaveLength(2);
});
