import { expect, test } from 'vitest';

import {
  countIn,
  decodeMask,
  encodeMask,
  invert,
  join,
  maskOf,
  readRows,
  rowsOf,
  writeRows,
} from './rows';

test('rows and masks are two ways to say the same', () => {
  const mask = maskOf(6, [1, 4, 9, -1]);
  expect([...mask]).toEqual([0, 1, 0, 0, 1, 0]);
  expect([...rowsOf(mask)]).toEqual([1, 4]);
  expect(countIn(mask)).toBe(2);
});

test('a second choice replaces, adds, removes or turns round', () => {
  const mask = maskOf(5, [0, 1]);
  const after = (how: Parameters<typeof join>[3]) => [...rowsOf(join(mask, [1, 2], 5, how))];
  expect(after('replace')).toEqual([1, 2]);
  expect(after('add')).toEqual([0, 1, 2]);
  expect(after('remove')).toEqual([0]);
  expect(after('toggle')).toEqual([0, 2]);
  expect([...rowsOf(join(null, [1], 5, 'remove'))]).toEqual([]);
});

test('what is hidden is not chosen by inverting', () => {
  expect([...invert(maskOf(4, [0]), maskOf(4, [0, 1, 2]))]).toEqual([0, 1, 1, 0]);
  expect([...invert(maskOf(3, [0]), null)]).toEqual([0, 1, 1]);
});

test('a mask goes to the server as bits and comes back', () => {
  expect(encodeMask(null)).toBeNull();
  expect(encodeMask(maskOf(10, [0, 9]))).toBe(btoa('\x01\x02'));
  const mask = maskOf(20_001, [0, 7, 8, 20_000]);
  expect(decodeMask(encodeMask(mask) ?? '', 20_001)).toEqual(mask);
});

test('rows in an address are short where they follow each other', () => {
  expect(writeRows([1, 2, 3, 7])).toBe('1-3,7');
  expect(readRows('1-3,7')).toEqual([1, 2, 3, 7]);
  expect(readRows('')).toEqual([]);
  expect(readRows('x,5')).toEqual([5]);
});
