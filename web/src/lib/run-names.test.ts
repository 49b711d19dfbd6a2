import { expect, test } from 'vitest';

import { countFolders, findCommonFolder, getSharedLength } from './run-names';

test('the common folder is the longest one that all names are in', () => {
  expect(findCommonFolder(['a/b/x', 'a/b/y', 'a/b/c/z'])).toBe('a/b/');
  expect(findCommonFolder(['a/bc/x', 'a/bd/y'])).toBe('a/');
  expect(findCommonFolder(['a/x', 'b/x'])).toBe('');
});

test('a run in the root has no common folder with others', () => {
  expect(findCommonFolder(['.', 'a/x'])).toBe('');
  expect(findCommonFolder(['a', 'a/x'])).toBe('');
});

test('the name itself is no folder', () => {
  expect(findCommonFolder(['a/b'])).toBe('a/');
  expect(findCommonFolder(['plain'])).toBe('');
  expect(findCommonFolder([])).toBe('');
});

test('the shared part of a path ends at a slash', () => {
  expect(getSharedLength('conv/lr1/train', 'conv/lr1/eval', 'vit/train')).toBe('conv/lr1/'.length);
  expect(getSharedLength('conv/lr1', 'vit/lr1', 'vit/lr2')).toBe(0);
});

test('without a slash it ends at a separator', () => {
  expect(getSharedLength('exp-lr0.1-seed1', undefined, 'exp-lr0.1-seed2')).toBe(
    'exp-lr0.1-'.length,
  );
  expect(getSharedLength('run1', 'run0', 'run2')).toBe(0);
});

test('a long last component is shared up to a separator', () => {
  const name = (letter: string): string => `sweep/lr0.1_bs128_long_schedule_${letter}/train`;
  expect(getSharedLength(name('B'), name('A'), name('C'))).toBe(name('').length - '/train'.length);
});

test('a name is never shared as a whole', () => {
  expect(getSharedLength('a/b', 'a/b', undefined)).toBe(2);
});

test('runs are counted in the folder that they are directly in', () => {
  expect(countFolders(['a/x', 'a/y', 'a/b/z', 'plain'])).toEqual(
    new Map([
      ['a/', 2],
      ['a/b/', 1],
      ['', 1],
    ]),
  );
});
