import { expect, test } from 'vitest';

import {
  ALPHA,
  categoryColorOf,
  colorCodes,
  colorNumbers,
  divergingRamp,
  LabelColumn,
  MISSING_COLOR,
  parseHexColor,
  pointSizes,
  valueRange,
  withAlpha,
} from './point-colors';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const numbers = Float32Array.from([0, 5, 10, NaN]);

test('labels are decoded one by one, by row or by value', () => {
  const own = { name: 'word', kind: 'text', numbers: null, codes: null } as const;
  const words = new LabelColumn({
    ...own,
    text: bytes('köndog'),
    ends: Int32Array.from([4, 4, 7]),
  });
  expect([words.textAt(0), words.textAt(1), words.textAt(2), words.textAt(9)]).toEqual([
    'kön',
    '',
    'dog',
    '',
  ]);
  const codes = Int32Array.from([1, 0, -1]);
  const shared = new LabelColumn({
    ...own,
    codes,
    text: bytes('ab'),
    ends: Int32Array.from([1, 2]),
  });
  expect([shared.textAt(0), shared.textAt(1), shared.textAt(2)]).toEqual(['b', 'a', '']);
  expect(shared.distinctCount).toBe(2);
});

test('numbers are painted from one end to the other, and none are grey', () => {
  const painted = colorNumbers(numbers, divergingRamp, [0, 10]);
  const at = (row: number) => [...painted.subarray(4 * row, 4 * row + 3)];
  expect(at(0)).toEqual([...parseHexColor('#2f6fd0')]);
  expect(at(2)).toEqual([...parseHexColor('#d0482f')]);
  expect(at(3)).toEqual([...parseHexColor(MISSING_COLOR)]);
});

test('values have colours of their own, which come round', () => {
  const painted = colorCodes(Int32Array.from([0, 24, -1]));
  expect([...painted.subarray(0, 3)]).toEqual([...painted.subarray(4, 7)]);
  expect([...painted.subarray(8, 11)]).toEqual([...parseHexColor(MISSING_COLOR)]);
  expect(categoryColorOf(0)).toBe(categoryColorOf(24));
});

test('a scale that diverges has zero in its middle', () => {
  expect(valueRange(Float32Array.from([-1, 4]), true)).toEqual([-4, 4]);
  expect(valueRange(Float32Array.from([-1, 4]), false)).toEqual([-1, 4]);
  expect(valueRange(Float32Array.from([1, 4]), true)).toEqual([1, 4]);
  expect(valueRange(Float32Array.from([NaN]), true)).toEqual([0, 1]);
});

test('the area of a point grows with its number', () => {
  const own = { name: 'n', kind: 'number', codes: null, text: bytes(''), ends: new Int32Array() };
  const sizes = pointSizes(new LabelColumn({ ...own, kind: 'number', numbers }));
  expect([...(sizes ?? [])]).toEqual([0, 180, 255, 0]);
});

test('how much is seen of a row is apart from its colour', () => {
  const painted = colorCodes(Int32Array.from([0, 1]));
  const seenOf = (seen: number[], standing: number[] | null) => {
    const masks = [Uint8Array.from(seen), standing && Uint8Array.from(standing)] as const;
    const dressed = withAlpha(painted, ...masks);
    return [dressed[3], dressed[7]];
  };
  expect(seenOf([0, 1], null)).toEqual([ALPHA.hidden, ALPHA.usual]);
  expect(seenOf([1, 1], [0, 1])).toEqual([ALPHA.back, ALPHA.front]);
});
