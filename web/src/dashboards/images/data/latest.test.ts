import { expect, test } from 'vitest';

import { Latest } from './latest.svelte';

/** Answers when the test says so. */
function slowly() {
  const waiting: ((fine: boolean) => void)[] = [];
  const asked: string[] = [];
  const latest = new Latest<string, string>((ask) => {
    asked.push(ask);
    return new Promise((resolve, reject) =>
      waiting.push((fine) => (fine ? resolve(ask.toUpperCase()) : reject(new TypeError()))),
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
  for (const ask of ['a', 'b', 'c', 'd']) latest.want(ask);
  await answer();
  expect(latest.got).toBe('A');
  await answer();
  expect(latest.got).toBe('D');
  expect(asked).toEqual(['a', 'd']);
});

test('what is at hand is shown at once, and nothing older after it', async () => {
  const { latest, answer } = slowly();
  latest.want('a');
  latest.put('READY');
  await answer();
  expect(latest.got).toBe('READY');
});

test('what went wrong is told, and what was there stays', async () => {
  const { latest, answer } = slowly();
  latest.want('a');
  await answer();
  latest.want('b');
  await answer(false);
  expect(latest.got).toBe('A');
  expect(latest.problem?.message).toContain('does not answer');
  latest.want('c');
  await answer();
  expect(latest.problem).toBeNull();
});
