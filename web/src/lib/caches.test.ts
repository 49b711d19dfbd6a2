import { expect, test } from 'vitest';

import { IdentityCache, LruCache, reuseIfEqual } from './caches';

test('an equal list is returned as the same object', () => {
  const before = [1, 2];
  expect(reuseIfEqual(before, [1, 2])).toBe(before);
  expect(reuseIfEqual(before, [2, 1])).toEqual([2, 1]);
  expect(reuseIfEqual(before, [1])).toEqual([1]);
});

test('unchanged items keep their identity', () => {
  const cache = new IdentityCache<{ name: string; color: string }>(({ name }) => name);
  const before = cache.update([
    { name: 'a', color: 'red' },
    { name: 'b', color: 'blue' },
  ]);
  const after = cache.update([
    { name: 'b', color: 'green' },
    { name: 'a', color: 'red' },
  ]);
  expect(after.get('a')).toBe(before.get('a'));
  expect(after.get('b')).toEqual({ name: 'b', color: 'green' });
});

test('the least recently used item is evicted first', () => {
  const evicted: string[] = [];
  const cache = new LruCache<string>(3, (item) => evicted.push(item));
  for (const name of ['a', 'b', 'c']) cache.set(name, name, 1);
  expect(cache.get('a')).toBe('a');
  cache.set('d', 'd', 1);
  expect(evicted).toEqual(['b']);
  expect(cache.size).toBe(3);
});

test('an item above the limit is cache until the next one is added', () => {
  const cache = new LruCache<string>(3);
  cache.set('small', 'small', 1);
  cache.set('large', 'large', 10);
  expect(cache.get('large')).toBe('large');
  expect(cache.get('small')).toBeUndefined();
  cache.set('next', 'next', 1);
  expect(cache.size).toBe(1);
});

test('setting a key again replaces its value', () => {
  const cache = new LruCache<string>(9);
  cache.set('a', 'old', 4);
  cache.set('a', 'new', 2);
  expect([cache.get('a'), cache.size]).toEqual(['new', 2]);
  cache.clear();
  expect(cache.size).toBe(0);
});
