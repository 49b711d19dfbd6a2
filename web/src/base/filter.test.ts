import { expect, test } from 'vitest';

import { compileFilter } from './filter';

const pick = (text: string, regex: boolean): string[] =>
  ['conv/lr1e-3', 'conv/lr3e-4', 'Dense/lr1e-3'].filter(compileFilter({ text, regex }).matches);

test('words must all occur, in any order and case', () => {
  expect(pick('', false)).toHaveLength(3);
  expect(pick('1e-3 CONV', false)).toEqual(['conv/lr1e-3']);
  expect(pick('lr.e', false)).toEqual([]);
});

test('a regular expression may match anywhere', () => {
  expect(pick('lr.e-3$', true)).toEqual(['conv/lr1e-3', 'Dense/lr1e-3']);
});

test('a wrong expression says what is wrong and hides nothing', () => {
  const matcher = compileFilter({ text: '(loss', regex: true });
  expect(matcher.error).toBe('Unterminated group');
  expect(matcher.matches('anything')).toBe(true);
});
