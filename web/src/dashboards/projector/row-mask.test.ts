import { expect, test } from 'vitest';

import {
  countRows,
  decodeMask,
  encodeMask,
  invertMask,
  combineMask,
  createMask,
  parseRowRanges,
  listRows,
  formatRowRanges,
} from './row-mask';

test('converts rows to a mask and back', () => {
  const mask = createMask(6, [1, 4, 9, -1]);
  expect([...mask]).toEqual([0, 1, 0, 0, 1, 0]);
  expect([...listRows(mask)]).toEqual([1, 4]);
  expect(countRows(mask)).toBe(2);
});

test('replaces, adds, removes or toggles rows', () => {
  const mask = createMask(5, [0, 1]);
  const after = (mode: Parameters<typeof combineMask>[3]) => [
    ...listRows(combineMask(mask, [1, 2], 5, mode)),
  ];
  expect(after('replace')).toEqual([1, 2]);
  expect(after('add')).toEqual([0, 1, 2]);
  expect(after('remove')).toEqual([0]);
  expect(after('toggle')).toEqual([0, 2]);
  expect([...listRows(combineMask(null, [1], 5, 'remove'))]).toEqual([]);
});

test('inverting does not select hidden rows', () => {
  expect([...invertMask(createMask(4, [0]), createMask(4, [0, 1, 2]))]).toEqual([0, 1, 1, 0]);
  expect([...invertMask(createMask(3, [0]), null)]).toEqual([0, 1, 1]);
});

test('encodes a mask as bits and decodes it', () => {
  expect(encodeMask(null)).toBeNull();
  expect(encodeMask(createMask(10, [0, 9]))).toBe(btoa('\x01\x02'));
  const mask = createMask(20_001, [0, 7, 8, 20_000]);
  expect(decodeMask(encodeMask(mask) ?? '', 20_001)).toEqual(mask);
});

test('formats consecutive rows as ranges', () => {
  expect(formatRowRanges([1, 2, 3, 7])).toBe('1-3,7');
  const parse = (text: string): number[] => [...listRows(parseRowRanges(text, 9))];
  expect(parse('1-3,7')).toEqual([1, 2, 3, 7]);
  expect(parse('')).toEqual([]);
  expect(parse('x,5,-2,3-1,8-20')).toEqual([5, 8]);
  // Millions of points can be selected at once.
  expect(countRows(parseRowRanges('0-2999999', 3_000_000))).toBe(3_000_000);
});
