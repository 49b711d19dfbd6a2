import { describe, expect, it, test } from 'vitest';

import type { StatisticsRow } from '../../api/schemas';
import {
  accumulate,
  arrangeFeatures,
  countSteps,
  encodeFile,
  formatFeature,
  formatStep,
  getOwn,
  getLargestDrift,
  listKinds,
  listScoreChanges,
  makeBinLabels,
  makeLengthLabels,
  matchesKinds,
  parseFeature,
  parseSearch,
  replaceStep,
  scaleCounts,
} from './feature-values';

test('texts become values of the type of the feature', () => {
  expect(parseFeature('4.5', { type: 'float', is_list: false })).toBe(4.5);
  expect(parseFeature('', { type: 'float', is_list: false })).toBeNull();
  expect(parseFeature('', { type: 'string', is_list: false })).toBe('');
  expect(parseFeature('True', { type: 'boolean', is_list: false })).toBe(true);
  expect(parseFeature('x', { type: 'integer', is_list: false })).toBe('x');
  expect(parseFeature('1, 2', { type: 'integer', is_list: true })).toEqual([1, 2]);
  expect(parseFeature('[[1],[2,3]]', { type: 'integer', is_list: true })).toEqual([[1], [2, 3]]);
});

test('values become texts that can be parsed again', () => {
  expect(formatFeature([1, 2])).toBe('[1,2]');
  expect(formatFeature(null)).toBe('');
  expect(formatFeature(false)).toBe('false');
});

test('one step of a sequence is shown and replaced', () => {
  const value = [[1], [2, 3]];
  const numbers = { type: 'float', is_list: true } as const;
  expect(countSteps({ ...numbers, is_sequence: true, value })).toBe(2);
  expect(countSteps({ ...numbers, is_sequence: false, value: [1, 2] })).toBe(0);
  // Images of a list are edited one by one.
  const images = { type: 'image', is_list: true, is_sequence: false } as const;
  expect(countSteps({ ...images, value: [null, null, null] })).toBe(3);
  expect(countSteps({ ...images, is_list: false, value: null })).toBe(0);
  expect(formatStep(value, 0)).toBe('1');
  expect(formatStep(value, 1)).toBe('[2,3]');
  expect(formatStep(value, 2)).toBe('');
  expect(replaceStep(value, 0, '5', { type: 'integer' })).toEqual([[5], [2, 3]]);
  expect(replaceStep(value, 1, '[4]', { type: 'integer' })).toEqual([[1], [4]]);
  expect(replaceStep([['a']], 0, 'b, c', { type: 'string' })).toEqual([['b, c']]);
  expect(replaceStep([['a']], 0, '["b","c"]', { type: 'string' })).toEqual([['b', 'c']]);
  expect(value).toEqual([[1], [2, 3]]);
});

test('scores are compared with the previous prediction', () => {
  expect(listScoreChanges(['0', '1'], [[0.4, 0.6]])).toEqual([
    { name: '0', before: null, after: 0.4 },
    { name: '1', before: null, after: 0.6 },
  ]);
  const history = [
    [0.9, 0.1],
    [0.4, 0.6],
    [0.3, 0.7],
  ];
  expect(listScoreChanges(['0', '1'], history)[1]).toEqual({ name: '1', before: 0.6, after: 0.7 });
});

test('files are sent as base64', async () => {
  expect(await encodeFile(new Blob(['abc']))).toEqual({ base64: 'YWJj' });
});

test('features are searched with regular expressions and sorted by attribution', () => {
  const features = (
    [
      ['age', 'integer', { m: -3 }],
      ['photo', 'image', {}],
      ['bmi', 'float', { m: 2 }],
      ['note', 'string', {}],
    ] as const
  ).map(([name, type, attributions]) => ({ name, type, attributions }));
  const arrange = (search: string, order: Parameters<typeof arrangeFeatures>[2]) =>
    arrangeFeatures(features, parseSearch(search), order, 'm').map(({ name }) => name);
  expect(arrange('', 'data')).toEqual(['photo', 'age', 'bmi', 'note']);
  expect(arrange('', 'name')).toEqual(['photo', 'age', 'bmi', 'note']);
  expect(arrange('', 'largest')).toEqual(['photo', 'bmi', 'age', 'note']);
  expect(arrange('', 'smallest')).toEqual(['photo', 'age', 'bmi', 'note']);
  expect(arrange('', 'absolute')).toEqual(['photo', 'age', 'bmi', 'note']);
  expect(arrange('^(AGE|bmi)$', 'data')).toEqual(['age', 'bmi']);
  expect(parseSearch('(')).toBeNull();
});

test('scores that are missing are not numbers', () => {
  expect(listScoreChanges(['no'], [[0.5], [null], [NaN]])).toEqual([
    { name: 'no', before: null, after: null },
  ]);
});

describe('distributions', () => {
  it('names bins by their edges, of which the last one is closed', () => {
    expect(makeBinLabels([0, 1, 2.5])).toEqual(['[0, 1)', '[1, 2.5]']);
    expect(makeBinLabels([])).toEqual([]);
  });

  it('scales counts to shares and logarithms', () => {
    expect(scaleCounts([1, 3, 0], true, false)).toEqual([25, 75, 0]);
    expect(scaleCounts([9, 0], false, true)).toEqual([1, 0]);
    expect(scaleCounts([0, 0], true, false)).toEqual([0, 0]);
  });

  it('accumulates shares up to 100 percent', () => {
    expect(accumulate([1, 1, 2])).toEqual([25, 50, 100]);
  });

  it('names bins of lengths', () => {
    expect(makeLengthLabels([1, 2, 3])).toEqual(['1', '2']);
    expect(makeLengthLabels([0, 4, 8])).toEqual(['0 – 3', '4 – 7']);
  });

  it('takes the largest drift of several data sets', () => {
    const others = [{ jensen_shannon: 0.2 }, { jensen_shannon: NaN }, { jensen_shannon: 0.4 }];
    const row = { others } as unknown as StatisticsRow;
    expect(getLargestDrift(row, 'jensen_shannon')).toBe(0.4);
    expect(getLargestDrift({ ...row, others: [] }, 'jensen_shannon')).toBeNull();
  });

  it('filters features by type and shape', () => {
    const age = { type: 'integer', is_list: false, list_length: null } as const;
    const vector = { type: 'float', is_list: true, list_length: 3 } as const;
    const words = { type: 'string', is_list: true, list_length: null } as const;
    expect(listKinds([age, vector])).toEqual(['float', 'integer', 'single', 'fixed']);
    expect(listKinds([age])).toEqual([]);
    const find = (...kinds: string[]) =>
      [age, vector, words].filter((row) => matchesKinds(row, kinds)).map(({ type }) => type);
    expect(find()).toEqual(['integer', 'float', 'string']);
    expect(find('integer', 'float')).toEqual(['integer', 'float']);
    expect(find('fixed', 'variable')).toEqual(['float', 'string']);
    expect(find('float', 'variable')).toEqual([]);
  });
});

test.each(['constructor', '__proto__', 'toString'])(
  'names such as %s have no inherited value',
  (name) => {
    expect(getOwn({}, name)).toBeUndefined();
    expect(getOwn(Object.fromEntries([[name, 3]]), name)).toBe(3);
    expect(getOwn(null, name)).toBeUndefined();
  },
);
