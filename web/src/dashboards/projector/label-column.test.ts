import { expect, test } from 'vitest';

import {
  ALPHA,
  categoryColorOf,
  colorCodes,
  colorNumbers,
  divergingRamp,
  MISSING_COLOR,
  parseHexColor,
  valueRange,
  withAlpha,
} from '../../charts/points/point-colors';
import { LabelColumn, pointSizes } from './label-column';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const numbers = Float32Array.from([0, 5, 10, NaN]);

test('decodes labels by row or by value', () => {
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

test('colors numbers from one end of the ramp to the other and missing ones gray', () => {
  const rgba = colorNumbers(numbers, divergingRamp, [0, 10]);
  const at = (row: number) => [...rgba.subarray(4 * row, 4 * row + 3)];
  expect(at(0)).toEqual([...parseHexColor('#2f6fd0')]);
  expect(at(2)).toEqual([...parseHexColor('#d0482f')]);
  expect(at(3)).toEqual([...parseHexColor(MISSING_COLOR)]);
});

test('repeats colors if there are more values', () => {
  const rgba = colorCodes(Int32Array.from([0, 24, -1]));
  expect([...rgba.subarray(0, 3)]).toEqual([...rgba.subarray(4, 7)]);
  expect([...rgba.subarray(8, 11)]).toEqual([...parseHexColor(MISSING_COLOR)]);
  expect(categoryColorOf(0)).toBe(categoryColorOf(24));
});

test('a diverging scale has zero in the middle', () => {
  expect(valueRange(Float32Array.from([-1, 4]), true)).toEqual([-4, 4]);
  expect(valueRange(Float32Array.from([-1, 4]), false)).toEqual([-1, 4]);
  expect(valueRange(Float32Array.from([1, 4]), true)).toEqual([1, 4]);
  expect(valueRange(Float32Array.from([NaN]), true)).toEqual([0, 1]);
});

test('the area of a point is proportional to its number', () => {
  const own = { name: 'n', kind: 'number', codes: null, text: bytes(''), ends: new Int32Array() };
  const sizes = pointSizes(new LabelColumn({ ...own, kind: 'number', numbers }));
  expect([...(sizes ?? [])]).toEqual([0, 180, 255, 0]);
});

test('opacity depends on visibility and highlighting', () => {
  const rgba = colorCodes(Int32Array.from([0, 1]));
  const alphaOf = (visible: number[], highlighted: number[] | null) => {
    const masks = [Uint8Array.from(visible), highlighted && Uint8Array.from(highlighted)] as const;
    const result = withAlpha(rgba, ...masks);
    return [result[3], result[7]];
  };
  expect(alphaOf([0, 1], null)).toEqual([ALPHA.hidden, ALPHA.normal]);
  expect(alphaOf([1, 1], [0, 1])).toEqual([ALPHA.dimmed, ALPHA.highlighted]);
});
