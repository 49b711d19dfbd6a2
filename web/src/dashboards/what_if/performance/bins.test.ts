import { expect, test } from 'vitest';

import { getBinCount, getBinKind, isBinRules, makeBinRule, matchesWords, parseEdges } from './bins';

test('edges are parsed, sorted and made unique', () => {
  expect(parseEdges('40, 20 ; 60,20')).toEqual([20, 40, 60]);
  expect(parseEdges('-1.5 2e3')).toEqual([-1.5, 2000]);
  expect(parseEdges('')).toBeNull();
  expect(parseEdges('20, forty')).toBeNull();
});

test('rules of a link are checked', () => {
  expect(isBinRules({ age: 4, hours: { quantiles: 3 }, x: [1, 2] })).toBe(true);
  expect(isBinRules({ age: 1 })).toBe(false);
  expect(isBinRules({ age: 'many' })).toBe(false);
  expect(isBinRules({ age: [2, 1, 1] })).toBe(false);
  expect(isBinRules({ age: { quantiles: 1e9 } })).toBe(false);
  expect(isBinRules(null)).toBe(false);
});

test('a rule keeps its number of bins when its kind changes', () => {
  const rule = makeBinRule('quantiles', 5, []);
  expect(rule).toEqual({ quantiles: 5 });
  expect(makeBinRule('width', getBinCount(rule), [])).toBe(5);
  expect(makeBinRule('edges', 3, [10, 20])).toEqual([10, 20]);
  expect(makeBinRule('edges', 3, [])).toBe(3);
  expect(makeBinRule('width', 1000, [])).toBe(50);
  expect([rule, 4, [1]].map(getBinKind)).toEqual(['quantiles', 'width', 'edges']);
});

test('a filter has several words', () => {
  expect(matchesWords('sex_X_age:f_X_>= 30', 'F age')).toBe(true);
  expect(matchesWords('sex:f', 'male')).toBe(false);
  expect(matchesWords('sex:f', '')).toBe(true);
});
