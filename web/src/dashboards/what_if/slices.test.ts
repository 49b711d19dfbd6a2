import { expect, test } from 'vitest';

import {
  countSlices,
  formatSlice,
  getBinCount,
  getBinKind,
  isBinRules,
  makeBinRule,
  makeConditionMask,
  matchesWords,
  MISSING_VALUE,
  parseEdges,
  parseSlice,
  removeSliceThresholds,
  selectSliceThresholds,
} from './slices';

const edges = { age: [20, 40] };
const columns = new Map([
  [
    'sex',
    { name: 'sex', numbers: null, codes: Int32Array.of(0, 1, 1, -1), categories: ['f', 'm'] },
  ],
  ['age', { name: 'age', numbers: Float64Array.of(20, 30, 40, NaN), codes: null, categories: [] }],
]);

test('a slice by name becomes conditions', () => {
  expect(parseSlice('Overall', ['sex'])).toEqual([]);
  expect(parseSlice('sex:f', ['sex'])).toEqual([{ column: 'sex', value: 'f' }]);
  expect(parseSlice('sex_X_age:m_X_[20, 40)', ['sex', 'age'], edges)).toEqual([
    { column: 'sex', value: 'm' },
    { column: 'age', low: 20, high: 40 },
  ]);
});

test('the first and the last bin are unbounded, and edges are exact', () => {
  expect(parseSlice('age:< 20', ['age'], edges)).toEqual([{ column: 'age', high: 20 }]);
  expect(parseSlice('age:>= 40', ['age'], edges)).toEqual([{ column: 'age', low: 40 }]);
  const rounded = { age: [1.23456789, 2] };
  expect(parseSlice('age:[1.23457, 2)', ['age'], rounded)).toEqual([
    { column: 'age', low: 1.23456789, high: 2 },
  ]);
  // A category that only looks like a bin.
  expect(parseSlice('income:< 50K', ['income'])).toEqual([{ column: 'income', value: '< 50K' }]);
});

test('rows must fit all conditions', () => {
  const conditions = parseSlice('sex_X_age:m_X_[20, 40)', ['sex', 'age'], edges);
  const mask = makeConditionMask(conditions, columns, 4);
  expect([...(mask ?? [])]).toEqual([0, 1, 0, 0]);
  expect(makeConditionMask([], columns, 4)).toBeNull();
});

test('numbers and missing values are compared as such', () => {
  const mask = (value: string | null, column: string) => [
    ...(makeConditionMask([{ column, value }], columns, 4) ?? []),
  ];
  expect(mask('30', 'age')).toEqual([0, 1, 0, 0]);
  expect(mask(null, 'sex')).toEqual([0, 0, 0, 1]);
});

test('the slice of missing values is shown as such and has the rows without a value', () => {
  const crossed = `sex_X_age:${MISSING_VALUE}_X_${MISSING_VALUE}`;
  const conditions = parseSlice(crossed, ['sex', 'age'], edges);
  expect(conditions).toEqual([
    { column: 'sex', value: null },
    { column: 'age', value: null },
  ]);
  expect([...(makeConditionMask(conditions, columns, 4) ?? [])]).toEqual([0, 0, 0, 1]);
  expect(formatSlice(crossed, ['sex', 'age'])).toBe('sex: missing · age: missing');
});

test('a category that is spelled as missing values is not mistaken for them', () => {
  const name = 'sex:"missing"';
  expect(parseSlice(name, ['sex'])).toEqual([{ column: 'sex', value: 'missing' }]);
  expect(parseSlice('sex:""missing""', ['sex'])).toEqual([{ column: 'sex', value: '"missing"' }]);
  expect(formatSlice(name, ['sex'])).toBe('sex: "missing"');
});

test('names of slices are shown with their columns', () => {
  expect(formatSlice('sex_X_age:m_X_>= 40', ['sex', 'age'])).toBe('sex: m · age: ≥ 40');
  expect(formatSlice('age:[20, 40)', ['age'])).toBe('age: [20, 40)');
  expect(formatSlice('Overall', ['age'])).toBe('Overall');
});

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

const SLICING = { slice_by: ['sex'], buckets: {}, model_thresholds: {} };
const THRESHOLDS = {
  a: { '': 0.4, 'sex:f': 0.3, 'sex:m': 0.4, 'age:< 30': 0.9 },
  b: { '': 0.7 },
};
const getDefault = (model: string): number => (model === 'a' ? 0.4 : 0.7);

test('slices by the chosen columns decide with thresholds of their own', () => {
  expect(selectSliceThresholds(THRESHOLDS, SLICING, getDefault)).toEqual({
    ...SLICING,
    thresholds: { a: { 'sex:f': 0.3 } },
  });
});

test('crossed slices are other slices than those of one column', () => {
  const slicing = { ...SLICING, slice_by: ['sex', 'age'] };
  expect(selectSliceThresholds(THRESHOLDS, slicing, getDefault)).toBeNull();
  const crossed = { a: { 'sex_X_age:f_X_< 30': 0.1 } };
  expect(selectSliceThresholds(crossed, slicing, getDefault)?.thresholds).toEqual(crossed);
});

test('without slices there is one threshold', () => {
  expect(selectSliceThresholds(THRESHOLDS, { ...SLICING, slice_by: [] }, getDefault)).toBeNull();
});

test('other bins are other slices', () => {
  expect(removeSliceThresholds(THRESHOLDS, ['sex'])).toEqual({
    a: { '': 0.4, 'age:< 30': 0.9 },
    b: { '': 0.7 },
  });
});

test('the number of slices is known for categories and bins', () => {
  const sex = { name: 'sex', missing: 0, distinct: 2 };
  const age = { name: 'age', missing: 3, distinct: null };
  const slicing = { slice_by: ['sex', 'age'], buckets: { age: { quantiles: 4 } } };
  expect(countSlices({ ...slicing, model_thresholds: {} }, [sex, age])).toBe(10);
  expect(countSlices({ ...slicing, buckets: {}, model_thresholds: {} }, [sex, age])).toBe(Infinity);
});

test('values that contain the separator of crossed columns are distinguished', () => {
  const columns = ['one', 'two'];
  const name = String.raw`one_X_two:a_\X_b_X_X`;
  expect(parseSlice(name, columns)).toEqual([
    { column: 'one', value: 'a_X_b' },
    { column: 'two', value: 'X' },
  ]);
  expect(formatSlice(name, columns)).toBe('one: a_X_b · two: X');
  expect(parseSlice(String.raw`one:\X_\X_\\X`, ['one'])).toEqual([
    { column: 'one', value: String.raw`X_X_\X` },
  ]);
});
