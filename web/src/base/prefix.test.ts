import { expect, test } from 'vitest';

import { sharedPrefixes } from './prefix';

const split = (names: string[]): string[] =>
  sharedPrefixes(names).map((length, at) => names[at]?.slice(0, length) ?? '');

test('what neighbours share is cut at a slash', () => {
  expect(split(['conv/bn-lr1', 'conv/bn-lr3', 'vit/tiny'])).toEqual(['conv/', 'conv/', '']);
});

test('names without a slash are cut at a dash or an underscore', () => {
  expect(split(['run_1', 'run_2', 'runner'])).toEqual(['run_', 'run_', '']);
});

test('a name is never dimmed whole', () => {
  expect(split(['a/', 'a/', 'a'])).toEqual(['', '', '']);
  expect(split(['only'])).toEqual(['']);
});
