import { expect, test } from 'vitest';

import { sharedPrefix } from './prefix';

const split = (names: string[]): string[] =>
  names.map((name, at) => name.slice(0, sharedPrefix(name, names[at - 1], names[at + 1])));

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
