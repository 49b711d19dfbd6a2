import { expect, test } from 'vitest';

import { compileTextFilter, FuzzyIndex } from './text-filter';

const pick = (text: string, regex: boolean): string[] =>
  ['conv/lr1e-3', 'conv/lr3e-4', 'Dense/lr1e-3'].filter(compileTextFilter({ text, regex }).matches);

test('words must all occur, in any order and case', () => {
  expect(pick('', false)).toHaveLength(3);
  expect(pick('1e-3 CONV', false)).toEqual(['conv/lr1e-3']);
  expect(pick('lr.e', false)).toEqual([]);
});

test('a regular expression may match anywhere', () => {
  expect(pick('lr.e-3$', true)).toEqual(['conv/lr1e-3', 'Dense/lr1e-3']);
});

test('a wrong expression says what is wrong and hides nothing', () => {
  const matcher = compileTextFilter({ text: '(loss', regex: true });
  expect(matcher.error).toBe('Unterminated group');
  expect(matcher.matches('anything')).toBe(true);
});

const find = (names: string[], query: string): string[] =>
  new FuzzyIndex(names, (name) => name).search(query, 10).map(({ item }) => item);

test('whole words come before starts, starts before insides, insides before spellings', () => {
  const names = ['gloss', 'long_oss', 'losses', 'train/loss'];
  expect(find(names, 'loss')).toEqual(['train/loss', 'losses', 'gloss', 'long_oss']);
});

test('every word has to be there, in any order and case', () => {
  expect(find(['conv/lr1e-3', 'conv/lr3e-4', 'vit/lr1e-3'], '1E-3 conv')).toEqual(['conv/lr1e-3']);
});

test('the shorter of two like names comes first', () => {
  expect(find(['loss/of/the/second/head', 'loss'], 'loss')[0]).toBe('loss');
});

test('the starts of parts spell a name, letters from anywhere do not', () => {
  expect(find(['validation/accuracy'], 'vacc')).toHaveLength(1);
  expect(find(['aa/ab'], 'aab')).toHaveLength(1);
  expect(find(['validation/accuracy'], 'vcy')).toHaveLength(0);
  expect(find(['Copy the link to this view'], 'los')).toHaveLength(0);
});

test('no query finds everything', () => {
  expect(find(['a', 'b'], ' ')).toHaveLength(2);
});
