import { expect, test } from 'vitest';

import {
  getPathDepth,
  getPathPart,
  getSharedPrefixLength,
  groupBy,
  groupByPrefix,
  type Grouping,
  groupingCodec,
  matchCapture,
  sortTags,
} from './grouping';

const group = (...tags: string[]): [string, string[]][] =>
  groupByPrefix(sortTags(tags.map((tag) => ({ tag })))).map(({ title, items }) => [
    title,
    items.map(({ tag }) => tag),
  ]);

test('sections and tags are in natural order', () => {
  expect(group('train/l10', 'eval/x', 'train/l2')).toEqual([
    ['eval', ['eval/x']],
    ['train', ['train/l2', 'train/l10']],
  ]);
});

test('tags without a slash share a section when they share a stem', () => {
  expect(group('epoch_loss', 'lr', 'epoch_accuracy', 'batch_loss')).toEqual([
    ['', ['batch_loss', 'lr']],
    ['epoch', ['epoch_accuracy', 'epoch_loss']],
  ]);
});

test('internal tags come last', () => {
  expect(group('_hparams_/x', 'z/y', '_graph_', 'loss')).toEqual([
    ['', ['loss', '_graph_']],
    ['z', ['z/y']],
    ['_hparams_', ['_hparams_/x']],
  ]);
});

test('a tag that starts with a slash has no prefix', () => {
  expect(group('/loss')).toEqual([['', ['/loss']]]);
});

test.each<[Grouping | null, string]>([
  [{ by: 'path', part: 2 }, 'path:2'],
  [{ by: 'regex', pattern: 'lr(.*):x' }, 're:lr(.*):x'],
  [{ by: 'label' }, 'label'],
  [{ by: 'column', key: 'hparam:a:b' }, 'hparam:a:b'],
  [null, ''],
])('%j is written as %s', (grouping, text) => {
  expect(groupingCodec.format(grouping)).toBe(text);
  expect(groupingCodec.parse(text)).toEqual(grouping);
});

test.each(['path:0', 'path:', 'colour:x', 're:', 'hparam'])('%s groups nothing', (text) => {
  expect(groupingCodec.parse(text)).toBeNull();
});

test('capture groups are the key, otherwise the whole match', () => {
  expect(matchCapture(/lr(\d)e-(\d)/, 'conv/lr1e-3')).toBe('1 3');
  expect(matchCapture(/lr\de/, 'conv/lr1e-3')).toBe('lr1e');
  expect(matchCapture(/(train)|(eval)/, 'a/eval')).toBe('eval');
  expect(matchCapture(/x/, 'conv')).toBeNull();
});

test('the last part of a path is not a group', () => {
  expect([1, 2, 3].map((part) => getPathPart('a/b/c', part))).toEqual(['a', 'b', null]);
  expect(getPathPart('vit', 1)).toBe('vit');
  expect(getPathDepth(['a', 'a/b/c', 'a/b'])).toBe(2);
});

test('groups are in natural order, ungrouped items last', () => {
  const names = ['b/10', 'x', 'b/9', 'a/1'];
  const keyOf = (name: string): string | null => (name === 'x' ? null : (name.split('/')[0] ?? ''));
  expect(groupBy(names, keyOf)).toEqual([
    { key: 'a', items: ['a/1'] },
    { key: 'b', items: ['b/10', 'b/9'] },
    { key: null, items: ['x'] },
  ]);
});

const split = (names: string[]): string[] =>
  names.map((name, at) => name.slice(0, getSharedPrefixLength(name, names[at - 1], names[at + 1])));

test('shared prefixes end at a slash', () => {
  expect(split(['conv/bn-lr1', 'conv/bn-lr3', 'vit/tiny'])).toEqual(['conv/', 'conv/', '']);
});

test('shared prefixes of names without a slash end at a dash or underscore', () => {
  expect(split(['run_1', 'run_2', 'runner'])).toEqual(['run_', 'run_', '']);
});

test('a name is never dimmed completely', () => {
  expect(split(['a/', 'a/', 'a'])).toEqual(['', '', '']);
  expect(split(['only'])).toEqual(['']);
});
