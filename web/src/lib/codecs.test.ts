import { expect, test } from 'vitest';

import * as codec from './codecs';

test.each([
  [[]],
  [['']],
  [['', '']],
  [['a']],
  [['a,b', 'c\\', '\\,']],
  [['train/loss', 'x y&z=1']],
])('names come back from their text: %j', (names) =>
  expect(codec.list.parse(codec.list.format(names))).toEqual(names),
);

test.each([null, '', '~', '~~x', 'plain'])('optional text comes back: %j', (value) => {
  expect(codec.optionalText.parse(codec.optionalText.format(value))).toBe(value);
});

test('what is no number is not taken for one', () => {
  expect(codec.optionalNumber.parse('1e3')).toBe(1000);
  expect(codec.optionalNumber.parse('')).toBeNull();
  expect(codec.optionalNumber.parse('12 monkeys')).toBeNull();
  expect(codec.number(0.6).parse('NaN')).toBe(0.6);
});

test('a range is put in order, and needs both ends', () => {
  expect(codec.range.parse('20~-3')).toEqual([-3, 20]);
  expect(codec.range.parse('20')).toBeNull();
  expect(codec.range.parse(codec.range.format([0.5, 1e-7]))).toEqual([1e-7, 0.5]);
});

test('an unknown word is the fallback', () => {
  expect(codec.choice(['a', 'b'], 'b').parse('c')).toBe('b');
});

test('damaged JSON is the fallback', () => {
  const isList = (value: unknown): value is number[] => Array.isArray(value);
  expect(codec.json(isList, [1]).parse('{')).toEqual([1]);
  expect(codec.json(isList, [1]).parse('{}')).toEqual([1]);
  expect(codec.json(isList, [1]).parse('[2]')).toEqual([2]);
});
