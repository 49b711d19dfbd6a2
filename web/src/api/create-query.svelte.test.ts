import { flushSync } from 'svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { createQuery, type Query, QueryMap } from './create-query.svelte';
import { QueryCache } from './query-cache';
import { definePluginQuery } from './query-definition';
import { FakeTransport, settle } from './query-test-tools';

interface Named {
  readonly name: string;
}

const lengths = definePluginQuery<Named, Named, string, string, number>('GET demo/length', {
  scope: 'immutable',
  select: (text) => text.length,
});

let transport: FakeTransport;
let cache: QueryCache;

beforeEach(() => {
  transport = new FakeTransport();
  vi.stubGlobal('reportError', () => undefined);
  cache = new QueryCache({ transport });
});

afterEach(() => {
  cache.dispose();
  vi.unstubAllGlobals();
});

/** A view of a query whose request can be changed, with all data that it has shown. */
function mountView(first: string | null) {
  let name = $state(first);
  const shown: (number | undefined)[] = [];
  let query: Query<number> | undefined;
  const unmount = $effect.root(() => {
    query = createQuery(cache, lengths, () => (name === null ? null : { name }));
    $effect(() => void shown.push(query?.data));
  });
  flushSync();
  return {
    shown,
    query: query as unknown as Query<number>,
    set: (next: string | null) => flushSync(() => (name = next)),
    unmount,
  };
}

test('a view follows its request', async () => {
  const view = mountView('a');
  await settle();
  expect(view.query.isLoading).toBe(true);
  await transport.get().respond('one');
  flushSync();
  view.set('b');
  await settle();
  expect(view.query).toMatchObject({ data: 3, isStale: true });
  await transport.get().respond('three');
  flushSync();
  view.set(null);
  expect(view.query.status).toBe('idle');
  expect(view.shown).toEqual([undefined, 3, 5, undefined]);
  view.unmount();
});

test('cached data is part of the first picture', async () => {
  const data = cache.fetch(lengths, { name: 'a' });
  await settle();
  await transport.get().respond('one');
  await data;
  const view = mountView('a');
  expect(view.shown).toEqual([3]);
  view.unmount();
});

test('a view that is removed aborts its request', async () => {
  const view = mountView('a');
  await settle();
  view.unmount();
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(transport.get().signal.aborted).toBe(true);
});

test('a bug is thrown where the data is read', async () => {
  let query: Query<number> | undefined;
  const unmount = $effect.root(() => {
    query = createQuery(cache, lengths, () => ({ name: 'a' }));
  });
  await settle();
  await transport.get().respond(null);
  expect(() => query?.data).toThrow(TypeError);
  expect(query?.error).toBeNull();
  unmount();
});

test('components share the queries of a map', async () => {
  let prefix = $state('a');
  const map = new QueryMap(cache, lengths, (key) => ({ name: prefix + key }));
  const shown: (number | undefined)[] = [];
  const unmount = $effect.root(() => {
    $effect(() => void shown.push(map.get('1')?.data));
  });
  flushSync();
  const [first, second] = [map.subscribe('1'), map.subscribe('1')];
  await settle();
  expect(transport.sent.map(({ path }) => path)).toEqual(['api/v1/demo/length?name=a1']);
  await transport.get().respond('one');
  flushSync();
  first();
  prefix = 'b';
  flushSync();
  await settle();
  await transport.get().respond('three');
  flushSync();
  expect(shown.filter((data) => data !== undefined)).toEqual([3, 5]);
  expect(map.keys).toEqual(['1']);
  second();
  flushSync();
  expect(map.get('1')).toBeUndefined();
  // Cached data is available to the next subscriber at once.
  const third = map.subscribe('1');
  expect(map.get('1')?.data).toBe(5);
  third();
  unmount();
});
