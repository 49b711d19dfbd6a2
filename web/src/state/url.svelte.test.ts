import { flushSync } from 'svelte';
import { afterEach, expect, test, vi } from 'vitest';

import { text } from '../lib/codecs';
import { BrowserStub } from './browser-stub';
import { PageUrl } from './url.svelte';

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Count how often `read` runs: once now, and again after changes of what it reads. */
function countReads(read: () => unknown): { readonly count: number; stop: () => void } {
  let count = 0;
  const stop = $effect.root(() => {
    $effect(() => {
      read();
      count++;
    });
  });
  return {
    get count() {
      flushSync();
      return count;
    },
    stop,
  };
}

test('a change notifies the readers of that parameter and of the whole query', () => {
  new BrowserStub('?filter=a');
  const url = new PageUrl();
  const stop = url.start();
  const [filter, order] = [url.param('filter', text, ''), url.param('order', text, '')];
  const reads = [() => filter.value, () => order.value, () => url.search].map(countReads);
  const counts = (): number[] => reads.map(({ count }) => count);

  expect(counts()).toEqual([1, 1, 1]);
  filter.set('b');
  expect(counts()).toEqual([2, 1, 2]);
  order.set('name');
  expect(counts()).toEqual([2, 2, 3]);
  expect(url.search).toBe('filter=b&order=name');
  for (const each of reads) each.stop();
  stop(); // cancels the pending change of the history
});

test('Back restores parameters and notifies their readers', async () => {
  const browser = new BrowserStub('?filter=a');
  const url = new PageUrl();
  const stop = url.start();
  const filter = url.param('filter', text, '');
  filter.set('b', 'push');
  await Promise.resolve();
  const reads = countReads(() => filter.value);

  expect(reads.count).toBe(1);
  browser.go(-1);
  expect(reads.count).toBe(2);
  expect(filter.value).toBe('a');
  reads.stop();
  stop();
});
