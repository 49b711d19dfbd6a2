import { expect, test } from 'vitest';

import {
  AUTO_SELECTION,
  countNewest,
  makeSelection,
  packNames,
  selectExactly,
  selectionCodec,
  type SelectionState,
  takeFirstNames,
  unpackNames,
  withSelected,
} from './run-selection';

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

test('a hundred runs of a sweep fit into a URL', () => {
  const names = Array.from({ length: 100 }, (_, at) => `experiments/2026-05/sweep/trial-${at}`);
  const packed = packNames(names);
  expect(packed.length).toBeLessThan(1000);
  expect(unpackNames(packed).sort()).toEqual(names.sort());
});

test('invalid text is parsed as far as possible', () => {
  expect(unpackNames('a/{b,c')).toEqual(['a/b', 'a/c']);
  expect(unpackNames('a\\')).toEqual(['a']);
  expect(unpackNames('a}b')).toEqual(['a']);
});

test.each<[SelectionState, string]>([
  [AUTO_SELECTION, 'auto'],
  [makeSelection('all'), 'all'],
  [makeSelection('none', ['conv/a', 'conv/b']), 'none;+conv/{a,b}'],
  [makeSelection('all', [], ['a;b']), 'all;-a\\;b'],
  [makeSelection('all', [], ['a\\']), 'all;-a\\\\'],
  [makeSelection({ newest: 20 }, ['vit'], ['x', 'y']), 'newest-20;+vit;-x,y'],
  [makeSelection('none', ['']), 'none;+\\e'],
])('%j is written as %s', (value, text) => {
  expect(selectionCodec.format(value)).toBe(text);
  expect(selectionCodec.parse(text)).toEqual(value);
});

test('invalid text becomes the default selection', () => {
  expect(selectionCodec.parse('some;+a')).toEqual(AUTO_SELECTION);
  expect(selectionCodec.parse('')).toEqual(AUTO_SELECTION);
});

test('all runs of a small log are selected, of a large one the newest 100', () => {
  expect(countNewest('auto', 500)).toBe(500);
  expect(countNewest('auto', 501)).toBe(100);
  expect([countNewest('all', 9), countNewest('none', 9), countNewest({ newest: 3 }, 9)]).toEqual([
    9, 0, 3,
  ]);
});

test('the rule with fewer exceptions is chosen', () => {
  const all = ['a', 'b', 'c'];
  expect(selectExactly(new Set(['a', 'b']), all)).toEqual(makeSelection('all', [], ['c']));
  expect(selectExactly(new Set(['a']), all)).toEqual(makeSelection('none', ['a']));
  expect(selectExactly(new Set(all), all)).toEqual(makeSelection('all'));
  expect(selectExactly(new Set(), all)).toEqual(makeSelection('none'));
});

test('only exceptions to the rule are stored', () => {
  const some = withSelected(makeSelection('all'), ['a', 'b'], false);
  expect(some).toEqual(makeSelection('all', [], ['a', 'b']));
  expect(withSelected(some, ['b'], true)).toEqual(makeSelection('all', [], ['a']));
  expect(withSelected(makeSelection('none', ['a']), ['a'], false)).toEqual(makeSelection('none'));
});

test('both sides are stored with the newest rule, as the newest runs change', () => {
  const some = withSelected(withSelected(makeSelection({ newest: 3 }), ['a'], true), ['b'], false);
  expect(some).toEqual(makeSelection({ newest: 3 }, ['a'], ['b']));
  expect(withSelected(some, ['b'], true)).toEqual(makeSelection({ newest: 3 }, ['a', 'b']));
});

test('the first matching names are taken, and the search stops there', () => {
  const runs = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
  expect([...takeFirstNames(runs, ({ name }) => name !== 'b', 2)]).toEqual(['a', 'c']);
  expect([...takeFirstNames(runs, () => true, 0)]).toEqual([]);
  expect(takeFirstNames(runs, () => true, 9).size).toBe(4);
});
