import { expect, test } from 'vitest';

import type { TextResponse } from './schemas';
import type { DashboardApi } from '../../plugin/context';
import { TextCache } from './query';

function answer(size: number): TextResponse {
  const cells = [{ html: 'x'.repeat(size), text: null, note: null }];
  return { shape: [], characters: size, fixed: [], row: 0, column: 0, columns: 1, cells };
}

function open(): { values: TextCache; asked: string[] } {
  const asked: string[] = [];
  const get = (path: string): Promise<TextResponse> => {
    asked.push(path);
    return Promise.resolve(answer(9_000_000));
  };
  return { values: new TextCache({ get } as unknown as DashboardApi), asked };
}

const { signal } = new AbortController();

test('what was seen is at hand', async () => {
  const { values } = open();
  expect(values.peek('a')).toBe(undefined);
  await values.load('a', signal);
  expect(values.peek('a')?.characters).toBe(9_000_000);
});

test('no more than a bound is kept, and what was used last stays', async () => {
  const { values } = open();
  await values.load('a', signal);
  await values.load('b', signal);
  values.peek('a');
  await values.load('c', signal);
  expect(['a', 'b', 'c'].map((path) => values.peek(path) !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
});
