import { expect, test } from 'vitest';

import { listWords, makeWordColumn } from './words';

test('words are in lower case, without punctuation', () => {
  expect([...listWords("Don't panic, don't!")]).toEqual(["don't", 'panic']);
  expect(listWords('训练 模型')).toContain('模型');
});

test('rows belong to the most frequent word of those that remain', () => {
  const categories = ['the red car', 'the blue car', 'the red bus', 'the boat'];
  const column = { numbers: null, codes: Int32Array.of(0, 1, 2, 3, 3, -1, 2, 1), categories };
  const { codes, categories: words } = makeWordColumn(column, 2, 'other');
  // "the" is in all rows. "car" and "red" are in three each; without cars, "boat" and "bus" are in
  // two each, as is "red".
  expect(words).toEqual(['car', 'red', 'other']);
  expect([...(codes ?? [])]).toEqual([0, 0, 1, 2, 2, -1, 1, 0]);
});

test('numbers have no words', () => {
  const column = { numbers: Float64Array.of(1), codes: null, categories: [] };
  expect(makeWordColumn(column, 3, 'other')).toBe(column);
});
