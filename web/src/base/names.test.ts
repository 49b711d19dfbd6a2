import { expect, test } from 'vitest';

import { packNames, unpackNames } from './names';

test.each<[string[], string]>([
  [[], ''],
  [['vit'], 'vit'],
  [['vit', 'conv/lr3e-4', 'conv/lr1e-3'], 'conv/{lr1e-3,lr3e-4},vit'],
  [['a/b/c', 'a/b/d', 'a/e'], 'a/{b/{c,d},e}'],
  [['a', 'a/b'], 'a/b,a'],
  [[''], '\\e'],
  [['a/', 'a/b'], 'a/{\\e,b}'],
  [['x{1,2}\\y'], 'x\\{1\\,2\\}\\\\y'],
])('%j is %s', (names, packed) => {
  expect(packNames(names)).toBe(packed);
  expect(unpackNames(packed).sort()).toEqual([...names].sort());
});

test('a hundred runs of a sweep fit into an address', () => {
  const names = Array.from({ length: 100 }, (_, at) => `experiments/2026-05/sweep/trial-${at}`);
  const packed = packNames(names);
  expect(packed.length).toBeLessThan(1000);
  expect(unpackNames(packed).sort()).toEqual(names.sort());
});

test('damaged text is read as far as it goes', () => {
  expect(unpackNames('a/{b,c')).toEqual(['a/b', 'a/c']);
  expect(unpackNames('a\\')).toEqual(['a']);
  expect(unpackNames('a}b')).toEqual(['a']);
});
