import { expect, test } from 'vitest';

import { Labels } from '../data/labels';
import {
  colourOfCode,
  diverging,
  NO_VALUE,
  paintCodes,
  paintNumbers,
  rangeOf,
  rgbOf,
  SEEN,
  sizesOf,
  withSeen,
} from './paint';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const numbers = Float32Array.from([0, 5, 10, NaN]);

test('labels are decoded one by one, by row or by value', () => {
  const own = { name: 'word', kind: 'text', numbers: null, codes: null } as const;
  const words = new Labels({ ...own, text: bytes('köndog'), ends: Int32Array.from([4, 4, 7]) });
  expect([words.of(0), words.of(1), words.of(2), words.of(9)]).toEqual(['kön', '', 'dog', '']);
  const codes = Int32Array.from([1, 0, -1]);
  const shared = new Labels({ ...own, codes, text: bytes('ab'), ends: Int32Array.from([1, 2]) });
  expect([shared.of(0), shared.of(1), shared.of(2)]).toEqual(['b', 'a', '']);
  expect(shared.values).toBe(2);
});

test('numbers are painted from one end to the other, and none are grey', () => {
  const painted = paintNumbers(numbers, diverging, [0, 10]);
  const at = (row: number) => [...painted.subarray(4 * row, 4 * row + 3)];
  expect(at(0)).toEqual([...rgbOf('#2f6fd0')]);
  expect(at(2)).toEqual([...rgbOf('#d0482f')]);
  expect(at(3)).toEqual([...rgbOf(NO_VALUE)]);
});

test('values have colours of their own, which come round', () => {
  const painted = paintCodes(Int32Array.from([0, 24, -1]));
  expect([...painted.subarray(0, 3)]).toEqual([...painted.subarray(4, 7)]);
  expect([...painted.subarray(8, 11)]).toEqual([...rgbOf(NO_VALUE)]);
  expect(colourOfCode(0)).toBe(colourOfCode(24));
});

test('a scale that diverges has zero in its middle', () => {
  expect(rangeOf(Float32Array.from([-1, 4]), true)).toEqual([-4, 4]);
  expect(rangeOf(Float32Array.from([-1, 4]), false)).toEqual([-1, 4]);
  expect(rangeOf(Float32Array.from([1, 4]), true)).toEqual([1, 4]);
  expect(rangeOf(Float32Array.from([NaN]), true)).toEqual([0, 1]);
});

test('the area of a point grows with its number', () => {
  const own = { name: 'n', kind: 'number', codes: null, text: bytes(''), ends: new Int32Array() };
  const sizes = sizesOf(new Labels({ ...own, kind: 'number', numbers }));
  expect([...(sizes ?? [])]).toEqual([0, 180, 255, 0]);
});

test('how much is seen of a row is apart from its colour', () => {
  const painted = paintCodes(Int32Array.from([0, 1]));
  const seenOf = (seen: number[], standing: number[] | null) => {
    const masks = [Uint8Array.from(seen), standing && Uint8Array.from(standing)] as const;
    const dressed = withSeen(painted, ...masks);
    return [dressed[3], dressed[7]];
  };
  expect(seenOf([0, 1], null)).toEqual([SEEN.hidden, SEEN.usual]);
  expect(seenOf([1, 1], [0, 1])).toEqual([SEEN.back, SEEN.front]);
});
