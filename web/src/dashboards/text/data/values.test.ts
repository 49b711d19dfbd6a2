import { expect, test } from 'vitest';

import type { TextAnswer } from '../../../api/text';
import type { Api } from '../../../plugin/context';
import { TextValues } from './values';

function answer(size: number): TextAnswer {
  const cells = [{ html: 'x'.repeat(size), text: null, note: null }];
  return { shape: [], characters: size, fixed: [], row: 0, column: 0, columns: 1, cells };
}

function open(): { values: TextValues; asked: string[] } {
  const asked: string[] = [];
  const get = (path: string): Promise<TextAnswer> => {
    asked.push(path);
    return Promise.resolve(answer(9_000_000));
  };
  return { values: new TextValues({ get } as unknown as Api), asked };
}

const { signal } = new AbortController();

test('what was seen is at hand', async () => {
  const { values } = open();
  expect(values.find('a')).toBe(undefined);
  await values.load('a', signal);
  expect(values.find('a')?.characters).toBe(9_000_000);
});

test('no more than a bound is kept, and what was used last stays', async () => {
  const { values } = open();
  await values.load('a', signal);
  await values.load('b', signal);
  values.find('a');
  await values.load('c', signal);
  expect(['a', 'b', 'c'].map((path) => values.find(path) !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
});
