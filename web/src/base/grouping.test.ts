import { expect, test } from 'vitest';

import { captureOf, depthOf, type Grouping, groupingCodec, partOf, putTogether } from './grouping';

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

test('the groups of a pattern are the key, else all that it matches', () => {
  expect(captureOf(/lr(\d)e-(\d)/, 'conv/lr1e-3')).toBe('1 3');
  expect(captureOf(/lr\de/, 'conv/lr1e-3')).toBe('lr1e');
  expect(captureOf(/(train)|(eval)/, 'a/eval')).toBe('eval');
  expect(captureOf(/x/, 'conv')).toBeNull();
});

test('the last part of a path is the run itself', () => {
  expect([1, 2, 3].map((part) => partOf('a/b/c', part))).toEqual(['a', 'b', null]);
  expect(partOf('vit', 1)).toBe('vit');
  expect(depthOf(['a', 'a/b/c', 'a/b'])).toBe(2);
});

test('groups stand in natural order, with the rest at the end', () => {
  const names = ['b/10', 'x', 'b/9', 'a/1'];
  const keyOf = (name: string): string | null => (name === 'x' ? null : (name.split('/')[0] ?? ''));
  expect(putTogether(names, keyOf)).toEqual([
    { key: 'a', items: ['a/1'] },
    { key: 'b', items: ['b/10', 'b/9'] },
    { key: null, items: ['x'] },
  ]);
});
