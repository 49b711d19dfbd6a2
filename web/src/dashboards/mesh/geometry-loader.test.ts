import { expect, test } from 'vitest';

import { GeometryLruCache } from './geometry-loader.svelte';

const makeCache = () => new GeometryLruCache<string>(10, (text) => text.length);

test('what was used last is kept', () => {
  const store = makeCache();
  store.set('a', '1234');
  store.set('b', '1234');
  store.get('a');
  store.set('c', '1234');
  expect([store.get('a'), store.get('b'), store.get('c')]).toEqual(['1234', undefined, '1234']);
  expect(store.totalBytes).toBe(8);
});

test('a giant drives nothing out', () => {
  const store = makeCache();
  store.set('a', '1234');
  store.set('giant', '12345678901');
  expect([store.get('a'), store.get('giant'), store.totalBytes]).toEqual(['1234', undefined, 4]);
});

test('the same again counts once', () => {
  const store = makeCache();
  store.set('a', '1234');
  store.set('a', '12345');
  expect(store.totalBytes).toBe(5);
});
