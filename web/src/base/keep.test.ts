import { expect, test } from 'vitest';

import { keepIfSame, Kept } from './keep';

test('a list with the same items is the same list', () => {
  const before = [1, 2];
  expect(keepIfSame(before, [1, 2])).toBe(before);
  expect(keepIfSame(before, [2, 1])).toEqual([2, 1]);
  expect(keepIfSame(before, [1])).toEqual([1]);
});

test('only what has changed is another thing', () => {
  const kept = new Kept<{ name: string; colour: string }>(({ name }) => name);
  const before = kept.keep([
    { name: 'a', colour: 'red' },
    { name: 'b', colour: 'blue' },
  ]);
  const after = kept.keep([
    { name: 'b', colour: 'green' },
    { name: 'a', colour: 'red' },
  ]);
  expect(after.get('a')).toBe(before.get('a'));
  expect(after.get('b')).toEqual({ name: 'b', colour: 'green' });
});
