import { expect, test } from 'vitest';

import { NetworkError } from '../../api/errors';
import { LatestRequest } from './image-loader.svelte';

/** Answers when the test says so. */
function slowly() {
  const waiting: ((fine: boolean) => void)[] = [];
  const asked: string[] = [];
  const latest = new LatestRequest<string, string>((ask) => {
    asked.push(ask);
    return new Promise((resolve, reject) =>
      waiting.push((fine) => (fine ? resolve(ask.toUpperCase()) : reject(new NetworkError()))),
    );
  });
  const answer = async (fine = true): Promise<void> => {
    waiting.shift()?.(fine);
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { latest, asked, answer };
}

test('one is got at a time, and of those asked for meanwhile only the last', async () => {
  const { latest, asked, answer } = slowly();
  for (const ask of ['a', 'b', 'c', 'd']) latest.request(ask);
  await answer();
  expect(latest.data).toBe('A');
  await answer();
  expect(latest.data).toBe('D');
  expect(asked).toEqual(['a', 'd']);
});

test('what is at hand is shown at once, and nothing older after it', async () => {
  const { latest, answer } = slowly();
  latest.request('a');
  latest.set('READY');
  await answer();
  expect(latest.data).toBe('READY');
});

test('what went wrong is told, and what was there stays', async () => {
  const { latest, answer } = slowly();
  latest.request('a');
  await answer();
  latest.request('b');
  await answer(false);
  expect(latest.data).toBe('A');
  expect(latest.error?.message).toContain('unreachable');
  latest.request('c');
  await answer();
  expect(latest.error).toBeNull();
});
