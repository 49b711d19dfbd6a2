import { expect, test } from 'vitest';

import { IdentityCache, LruCache, reuseIfEqual } from './caches';

test('a list with the same items is the same list', () => {
  const before = [1, 2];
  expect(reuseIfEqual(before, [1, 2])).toBe(before);
  expect(reuseIfEqual(before, [2, 1])).toEqual([2, 1]);
  expect(reuseIfEqual(before, [1])).toEqual([1]);
});

test('only what has changed is another thing', () => {
  const kept = new IdentityCache<{ name: string; colour: string }>(({ name }) => name);
  const before = kept.update([
    { name: 'a', colour: 'red' },
    { name: 'b', colour: 'blue' },
  ]);
  const after = kept.update([
    { name: 'b', colour: 'green' },
    { name: 'a', colour: 'red' },
  ]);
  expect(after.get('a')).toBe(before.get('a'));
  expect(after.get('b')).toEqual({ name: 'b', colour: 'green' });
});

test('what was not used for longest goes first', () => {
  const gone: string[] = [];
  const shelf = new LruCache<string>(3, (thing) => gone.push(thing));
  for (const name of ['a', 'b', 'c']) shelf.set(name, name, 1);
  expect(shelf.get('a')).toBe('a');
  shelf.set('d', 'd', 1);
  expect(gone).toEqual(['b']);
  expect(shelf.size).toBe(3);
});

test('something larger than the shelf is held until the next comes', () => {
  const shelf = new LruCache<string>(3);
  shelf.set('small', 'small', 1);
  shelf.set('large', 'large', 10);
  expect(shelf.get('large')).toBe('large');
  expect(shelf.get('small')).toBeUndefined();
  shelf.set('next', 'next', 1);
  expect(shelf.size).toBe(1);
});

test('the same key again takes the place of what was there', () => {
  const shelf = new LruCache<string>(9);
  shelf.set('a', 'old', 4);
  shelf.set('a', 'new', 2);
  expect([shelf.get('a'), shelf.size]).toEqual(['new', 2]);
  shelf.clear();
  expect(shelf.size).toBe(0);
});
