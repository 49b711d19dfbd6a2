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
} from '../../charts/points/point-scene';
import {
  applyFilter,
  canFilter,
  countRanges,
  countValues,
  formatColumnNumber,
  isColumnFilters,
  isFilteredByRange,
  LabelColumn,
  pointSizes,
  sortRowsBy,
} from './label-columns';
import type { ColumnInfo } from '../../api/schemas';

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

function makeColumn(name: string, texts: readonly string[], isCoded = false): LabelColumn {
  const distinct = isCoded ? [...new Set(texts)] : texts;
  const encoded = distinct.map((text) => new TextEncoder().encode(text));
  let end = 0;
  const ends = Int32Array.from(encoded, ({ length }) => (end += length));
  const text = new Uint8Array(end);
  encoded.forEach((bytes, index) => text.set(bytes, index === 0 ? 0 : ends[index - 1]));
  const isNumber = texts.every((cell) => cell === '' || !Number.isNaN(Number(cell)));
  return new LabelColumn({
    ...{ name, kind: isNumber ? 'number' : 'text', text, ends },
    numbers: isNumber
      ? Float32Array.from(texts, (cell) => (cell === '' ? NaN : Number(cell)))
      : null,
    codes: isCoded ? Int32Array.from(texts, (cell) => distinct.indexOf(cell)) : null,
  });
}

const info = (part: Partial<ColumnInfo>): ColumnInfo => ({
  ...{ name: 'a', kind: 'text', distinct: 2, missing: 0, min: null, max: null, values: [] },
  ...part,
});

const sizes = makeColumn('size', ['3', '', '10', '1', '10']);
const kinds = makeColumn('kind', ['b', 'a', 'b', '', 'b'], true);
const all = (): Uint8Array => new Uint8Array(5).fill(1);

test('filters by range leave out rows without a number', () => {
  const mask = all();
  applyFilter(mask, sizes, { range: [2, 10] });
  expect([...mask]).toEqual([1, 0, 1, 0, 1]);
});

test('filters by value work with and without codes, and with empty values', () => {
  const mask = all();
  applyFilter(mask, kinds, { values: ['a', ''] });
  expect([...mask]).toEqual([0, 1, 0, 1, 0]);
  const names = all();
  applyFilter(names, makeColumn('name', ['x', 'y', 'z', 'u', 'v']), { values: ['y'] });
  expect([...names]).toEqual([0, 1, 0, 0, 0]);
});

test('histograms count the rows of a mask', () => {
  const bars = countRanges(info({ kind: 'number', min: 1, max: 10 }), sizes, null);
  expect(bars[0]).toMatchObject({ low: 1, count: 1 });
  expect(bars.at(-1)).toMatchObject({ high: 10, count: 2 });
  expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(4);
  const values = [
    { text: 'b', count: 3 },
    { text: 'a', count: 1 },
  ];
  const mask = Uint8Array.from([1, 1, 0, 1, 0]);
  const counted = countValues(info({ values }), kinds, mask, 10);
  expect(counted.map(({ text, count }) => [text, count])).toEqual([
    ['b', 1],
    ['a', 1],
  ]);
});

test('numbers with few values are filtered by value', () => {
  const values = [
    { text: '0', count: 3 },
    { text: '1', count: 3 },
  ];
  const labels = info({ kind: 'number', min: 0, max: 1, values });
  expect([isFilteredByRange(labels), canFilter(labels)]).toEqual([false, true]);
  expect(isFilteredByRange(info({ kind: 'number', min: 0, max: 1, distinct: 99 }))).toBe(true);
  expect(canFilter(info({ distinct: 99 }))).toBe(false);
});

test('sorts rows by number or in natural order, those without a value last', () => {
  const rows = Int32Array.from([0, 1, 2, 3, 4]);
  expect([...sortRowsBy(rows, sizes, false)]).toEqual([3, 0, 2, 4, 1]);
  expect([...sortRowsBy(rows, sizes, true)]).toEqual([2, 4, 0, 3, 1]);
  expect([...sortRowsBy(rows, kinds, false)]).toEqual([1, 0, 2, 4, 3]);
  const names = makeColumn('name', ['p10', 'p9', 'p1', 'q', 'p9']);
  expect([...sortRowsBy(rows, names, false)]).toEqual([2, 1, 4, 0, 3]);
  expect([...sortRowsBy(rows, null, true)]).toEqual([4, 3, 2, 1, 0]);
});

test('rejects filters of another form', () => {
  expect(isColumnFilters({ a: { range: [0, 1] }, b: { values: ['x'] } })).toBe(true);
  for (const value of [null, [], { a: 1 }, { a: { range: [0] } }, { a: { values: [1] } }])
    expect(isColumnFilters(value)).toBe(false);
});

test('does not group the digits of years and ids', () => {
  expect([1990, -20731, 12345678, 0].map(formatColumnNumber)).toEqual([
    '1990',
    '−20731',
    '12345678',
    '0',
  ]);
  expect([0.123456, 1991.25].map(formatColumnNumber)).toEqual(['0.1235', '1991.3']);
});
