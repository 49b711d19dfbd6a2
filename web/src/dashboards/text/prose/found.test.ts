import { expect, test } from 'vitest';

import { findSpans } from './found';

test('all places are found', () => {
  expect(findSpans('a cat, a CAT', ['cat'], false)).toEqual([
    { start: 2, stop: 5 },
    { start: 9, stop: 12 },
  ]);
  expect(findSpans('a cat, a CAT', ['cat'], true)).toEqual([{ start: 2, stop: 5 }]);
});

test('places of several words never lie over each other', () => {
  expect(findSpans('abcd', ['bc', 'abc', 'd'], false)).toEqual([
    { start: 0, stop: 3 },
    { start: 3, stop: 4 },
  ]);
});

test('letters that grow when they are made small move nothing', () => {
  expect(findSpans('İİ cat', ['CAT'], false)).toEqual([{ start: 3, stop: 6 }]);
});

test('no words are nowhere', () => expect(findSpans('abc', [''], false)).toEqual([]));
