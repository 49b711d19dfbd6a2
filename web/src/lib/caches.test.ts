import { expect, test } from 'vitest';

import { IdentityCache, LruCache, reuseIfEqual } from './caches';

test('an equal list is returned as the same object', () => {
  const before = [1, 2];
  expect(reuseIfEqual(before, [1, 2])).toBe(before);
  expect(reuseIfEqual(before, [2, 1])).toEqual([2, 1]);
  expect(reuseIfEqual(before, [1])).toEqual([1]);
});

test('unchanged items keep their identity', () => {
  const kept = new IdentityCache<{ name: string; color: string }>(({ name }) => name);
  const before = kept.update([
    { name: 'a', color: 'red' },
    { name: 'b', color: 'blue' },
  ]);
  const after = kept.update([
    { name: 'b', color: 'green' },
    { name: 'a', color: 'red' },
  ]);
  expect(after.get('a')).toBe(before.get('a'));
  expect(after.get('b')).toEqual({ name: 'b', color: 'green' });
});

test('the least recently used item is evicted first', () => {
  const gone: string[] = [];
  const shelf = new LruCache<string>(3, (thing) => gone.push(thing));
  for (const name of ['a', 'b', 'c']) shelf.set(name, name, 1);
  expect(shelf.get('a')).toBe('a');
  shelf.set('d', 'd', 1);
  expect(gone).toEqual(['b']);
  expect(shelf.size).toBe(3);
});

test('an item above the limit is kept until the next one is added', () => {
  const shelf = new LruCache<string>(3);
  shelf.set('small', 'small', 1);
  shelf.set('large', 'large', 10);
  expect(shelf.get('large')).toBe('large');
  expect(shelf.get('small')).toBeUndefined();
  shelf.set('next', 'next', 1);
  expect(shelf.size).toBe(1);
});

test('setting a key again replaces its value', () => {
  const shelf = new LruCache<string>(9);
  shelf.set('a', 'old', 4);
  shelf.set('a', 'new', 2);
  expect([shelf.get('a'), shelf.size]).toEqual(['new', 2]);
  shelf.clear();
  expect(shelf.size).toBe(0);
});
