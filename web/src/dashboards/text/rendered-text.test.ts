import { expect, test } from 'vitest';

import { findSpans, shiftHeadingLevels } from './rendered-text';

test.each([
  [[], []],
  [
    [1, 2, 2, 1],
    [4, 5, 5, 4],
  ],
  [[2], [4]],
  [
    [1, 3, 6],
    [4, 5, 6],
  ],
  [
    [4, 1, 4],
    [4, 4, 5],
  ],
])('headings %j stand at %j below a card', (levels, lowered) => {
  expect(shiftHeadingLevels(levels, 3)).toEqual(lowered);
});

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
