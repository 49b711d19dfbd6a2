import { describe, expect, test } from 'vitest';

import { LIGHT_THEME, type Renderer, type TextStyle } from '../../../charts/renderer/renderer';
import { makeColors } from './datapoint-colors';
import { drawAxes, exportPlotSvg, type PlotImage } from './plot-drawing';
import {
  countUnplaced,
  layoutCells,
  listWords,
  makeAxis,
  makeFacet,
  makeWordColumn,
  placePoints,
  sortByColor,
} from './plot-layout';

describe('plot layout', () => {
  const names = { other: 'other', missing: 'missing' };
  const numbers = (...values: number[]) => ({
    numbers: Float64Array.from(values),
    codes: null,
    categories: [],
  });
  const texts = (codes: number[], categories: string[]) => ({
    numbers: null,
    codes: Int32Array.from(codes),
    categories,
  });
  const MARGINS = { left: 0, right: 0, top: 0, bottom: 0 };

  test('numbers are placed between round ends', () => {
    const axis = makeAxis(numbers(0.5, 9.5, NaN), 3, names);
    expect(axis.domain).toEqual([0, 10]);
    expect(axis.places[0]).toBeCloseTo(0.05);
    expect(axis.places[2]).toBeNaN();
  });

  test('points at the ends of an axis are not cut off', () => {
    const axis = makeAxis(numbers(0, 4, 10), 3, names);
    expect(axis.domain[0]).toBeCloseTo(-0.3);
    expect(axis.domain[1]).toBeCloseTo(10.3);
    expect(axis.places[0]).toBeGreaterThan(0.02);
    expect(axis.places[2]).toBeLessThan(0.98);
  });

  test('classes such as 0 and 1 are spread, so that their points do not coincide', () => {
    const axis = makeAxis(numbers(0, 1, 1, 0, 1, 0, 1, 0), 8, names);
    expect(axis.kind).toBe('category');
    expect(axis.categories).toEqual(['0', '1']);
    expect(new Set(axis.places).size).toBe(8);
    expect(axis.places[0]).toBeLessThan(0.5);
    expect(axis.places[1]).toBeGreaterThan(0.5);
    // Numbers that are not classes keep their scale.
    expect(makeAxis(numbers(0, 5, 0, 5, 0, 5, 0, 5), 8, names).kind).toBe('number');
    expect(makeAxis(numbers(0, 1), 2, names).kind).toBe('number');
    expect(makeAxis(numbers(NaN, NaN), 2, names).kind).toBe('number');
  });

  test('categories are ordered by frequency and spread inside their place', () => {
    const axis = makeAxis(texts([0, 1, 1, -1], ['a', 'b']), 4, names);
    expect(axis.categories).toEqual(['b', 'a', 'missing']);
    expect(axis.places[1]).toBeGreaterThan(0);
    expect(axis.places[1]).toBeLessThan(1 / 3);
    expect(axis.places[3]).toBeGreaterThan(2 / 3);
  });

  test('categories that are numbers are in ascending order', () => {
    const facet = makeFacet(texts([0, 0, 0, 1, 1, 2], ['2', '10', '0']), 6, 4, names);
    expect(facet?.labels).toEqual(['0', '2', '10']);
    expect([...(facet?.bins ?? [])]).toEqual([1, 1, 1, 2, 2, 0]);
  });

  test('facets of numbers are ranges of equal width', () => {
    const facet = makeFacet(numbers(0, 1, 2, 3, 4, 5, 6, 7, 8, 10), 10, 2, names);
    expect(facet?.labels).toEqual(['0 – 5', '5 – 10']);
    expect([...(facet?.bins ?? [])]).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
  });

  test('with many facets, each distinct number has its own', () => {
    const values = Array.from({ length: 30 }, (_, at) => at * at);
    const facet = makeFacet(numbers(...values), 30, 50, names);
    expect(facet?.labels).toEqual(values.map(String));
  });

  test('the cells of many facets keep most of the space', () => {
    const cells = layoutCells(52, 52, { width: 390, height: 300 }, MARGINS);
    const [first] = cells;
    expect(first?.width).toBeGreaterThan(390 / 52 / 2);
    expect(first?.height).toBeGreaterThan(300 / 52 / 2);
    expect((cells.at(-1)?.left ?? 0) + (cells.at(-1)?.width ?? 0)).toBeCloseTo(390);
  });

  test('few distinct numbers are facets of their own', () => {
    const facet = makeFacet(numbers(1, 0, 1), 3, 4, names);
    expect(facet?.labels).toEqual(['0', '1']);
    expect([...(facet?.bins ?? [])]).toEqual([1, 0, 1]);
  });

  test('rows without a number have a facet of their own', () => {
    const few = makeFacet(numbers(1, 0, NaN), 3, 4, names);
    expect(few?.labels).toEqual(['0', '1', 'missing']);
    expect([...(few?.bins ?? [])]).toEqual([1, 0, 2]);
    const ranges = makeFacet(numbers(0, 1, 2, 10, Infinity), 5, 2, names);
    expect(ranges?.labels).toEqual(['0 – 5', '5 – 10', 'missing']);
    expect([...(ranges?.bins ?? [])]).toEqual([0, 0, 0, 1, 2]);
  });

  test('rows without a number on a numeric axis are counted once', () => {
    const [x, y] = [numbers(0.5, NaN, NaN, 1), numbers(1, 2.5, Infinity, NaN)];
    expect(countUnplaced([x, y], 4)).toBe(3);
    expect(countUnplaced([x, null], 4)).toBe(2);
    // Categories have a place for missing values, and so have classes.
    const classes = numbers(0, 1, 1, 0, 1, 0, 1, 0, NaN);
    expect(countUnplaced([texts([0, -1], ['a']), null], 2)).toBe(0);
    expect(countUnplaced([classes], 9)).toBe(0);
  });

  test('points are placed in the cell of their facets', () => {
    const facetX = makeFacet(texts([0, 1], ['a', 'b']), 2, 4, names);
    const axis = { ...makeAxis(numbers(0, 10), 2, names), places: Float32Array.of(0, 1) };
    const cells = layoutCells(2, 1, { width: 210, height: 100 }, MARGINS);
    const content = { x: axis, y: axis, facetX, facetY: null, order: null };
    const positions = placePoints(content, cells, 2, 2);
    expect([...positions]).toEqual([0, 100, 0, 210, 0, 0]);
  });

  test('without axes points are packed by color', () => {
    const none = makeAxis(null, 4, names);
    const order = sortByColor(texts([1, 0, 1, 0], ['a', 'b']), 4);
    expect([...(order ?? [])]).toEqual([1, 3, 0, 2]);
    const cells = layoutCells(1, 1, { width: 100, height: 100 }, MARGINS);
    const content = { x: none, y: none, facetX: null, facetY: null, order };
    const positions = placePoints(content, cells, 1, 4);
    expect([positions[3], positions[4]]).toEqual([7, 93]);
    expect([positions[0], positions[1]]).toEqual([7, 79]);
  });

  test('words are in lower case, without punctuation', () => {
    expect([...listWords("Don't panic, don't!")]).toEqual(["don't", 'panic']);
    expect(listWords('训练 模型')).toContain('模型');
  });

  test('rows belong to the most frequent word of those that remain', () => {
    const categories = ['the red car', 'the blue car', 'the red bus', 'the boat'];
    const column = { numbers: null, codes: Int32Array.of(0, 1, 2, 3, 3, -1, 2, 1), categories };
    const { codes, categories: words } = makeWordColumn(column, 2, 'other');
    // "the" is in all rows. "car" and "red" are in three each; without cars, "boat" and "bus" are in
    // two each, as is "red".
    expect(words).toEqual(['car', 'red', 'other']);
    expect([...(codes ?? [])]).toEqual([0, 0, 1, 2, 2, -1, 1, 0]);
  });

  test('numbers have no words', () => {
    const column = { numbers: Float64Array.of(1), codes: null, categories: [] };
    expect(makeWordColumn(column, 3, 'other')).toBe(column);
  });
});

describe('plot drawing', () => {
  const LETTER_PX = 6;
  const FONT_PX = 11;
  const SIZE = { width: 700, height: 400 };
  const MARGINS = { left: 60, right: 24, top: 24, bottom: 40 };
  const names = { other: 'other', missing: 'missing' };

  interface Drawn {
    readonly text: string;
    readonly x: number;
    readonly y: number;
    readonly style: TextStyle;
  }

  /** Return the texts of a plot with cells for each of some numbers, in columns and lines. */
  function drawFacets(facets: number, labels?: readonly string[]): Drawn[] {
    const numbers = Float64Array.from({ length: facets }, (_, at) => 1000 + at);
    const column = { numbers, codes: null, categories: [] };
    const axis = makeAxis({ ...column, numbers: numbers.map((_, at) => at * 9e5) }, facets, names);
    const made = makeFacet(column, facets, facets, names);
    const facet = made && { ...made, labels: labels ?? made.labels };
    const drawn: Drawn[] = [];
    const renderer = {
      rect: () => undefined,
      stroke: () => undefined,
      clip: (_box: unknown, draw: () => void) => draw(),
      measureText: (text: string) => text.length * LETTER_PX,
      text: (text: string, x: number, y: number, style: TextStyle) => {
        if (text !== '') drawn.push({ text, x, y, style });
      },
    } as unknown as Renderer;
    drawAxes(renderer, {
      ...{ ...SIZE, margins: MARGINS, columns: facets, x: axis, y: axis, xTitle: '', yTitle: '' },
      ...{ facetX: facet, facetY: facet, theme: LIGHT_THEME },
      cells: layoutCells(facets, facets, SIZE, MARGINS),
      toScreenX: (px) => px,
      toScreenY: (px) => px,
    });
    return drawn;
  }

  function expectSpace(
    texts: readonly { readonly middle: number; readonly length: number }[],
  ): void {
    expect(texts.length).toBeGreaterThan(1);
    const sorted = [...texts].sort((one, other) => one.middle - other.middle);
    let end = -Infinity;
    for (const { middle, length } of sorted) {
      expect(middle - length / 2).toBeGreaterThanOrEqual(end);
      end = middle + length / 2;
    }
  }

  test('labels of many facets are left out rather than cut', () => {
    const ranges = Array.from({ length: 20 }, (_, at) => `0.${100 + at} – 0.${101 + at}`);
    const shown = drawFacets(20, ranges).filter(({ text }) => text.includes(' – '));
    expect(shown.length).toBeGreaterThan(4);
    expect(shown.every(({ text }) => ranges.includes(text))).toBe(true);
  });

  test.each([2, 10, 50])('ticks and labels of %i facets do not overlap', (facets) => {
    const drawn = drawFacets(facets);
    const xTicks = drawn.filter(({ style }) => style.baseline === 'top');
    const xLabels = drawn.filter(({ style }) => style.baseline === 'bottom');
    const yTicks = drawn.filter(({ style }) => style.align === 'right');
    const yLabels = drawn.filter(({ style }) => style.align !== 'right' && style.vertical === true);
    for (const texts of [xTicks, xLabels])
      expectSpace(texts.map(({ text, x }) => ({ middle: x, length: text.length * LETTER_PX })));
    expectSpace(yTicks.map(({ y }) => ({ middle: y, length: FONT_PX })));
    expectSpace(yLabels.map(({ text, y }) => ({ middle: y, length: text.length * LETTER_PX })));
  });

  const measure: Renderer['measureText'] = (text, { size }) => text.length * size * 0.5;
  const NAMES = { other: 'other', missing: 'missing' };
  const COUNT = 4;
  const group = {
    name: 'group',
    numbers: null,
    codes: Int32Array.of(0, 1, 1, -1),
    categories: ['a & b', 'c'],
  };

  function makeImage(visible: Uint8Array | null = null): PlotImage {
    const numbers = Float64Array.of(0, 5, 10, 7);
    const margins = { left: 62, right: 24, top: 24, bottom: 40 };
    const size = { width: 400, height: 300 };
    const facetY = makeFacet(group, COUNT, 4, NAMES);
    return {
      axes: {
        ...{ ...size, margins, columns: 1, facetX: null, facetY },
        cells: layoutCells(1, facetY?.labels.length ?? 1, size, margins),
        x: makeAxis({ numbers, codes: null, categories: [] }, COUNT, NAMES),
        y: makeAxis(null, COUNT, NAMES),
        ...{ xTitle: 'age', yTitle: '' },
        toScreenX: (px) => px,
        toScreenY: (px) => px,
      },
      xy: Float32Array.of(70, 50, 100, 60, 120, 80, NaN, NaN),
      colors: makeColors(group, COUNT, visible, null),
      ...{ colorTitle: 'group', pointSize: 7, raster: null },
      rings: [{ at: { x: 100, y: 60 }, radius: 8, color: '#1a9850', label: '17' }],
    };
  }

  test('points, axes, legend and chosen points are shapes', () => {
    const svg = exportPlotSvg(makeImage(), 'Datapoints of people', measure);
    const circles = svg.match(/<circle[^>]*r="3.5"/g) ?? [];
    expect(circles).toHaveLength(3); // the last point is not visible
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
    expect(texts).toEqual(
      expect.arrayContaining([
        'Datapoints of people',
        'group',
        'a &#38; b',
        'c',
        'age',
        '17',
        '10',
      ]),
    );
    expect(svg).toContain('stroke="#1a9850"');
  });

  test('filtered points are left out', () => {
    const svg = exportPlotSvg(makeImage(Uint8Array.of(1, 0, 0, 1)), 'people', measure);
    expect(svg.match(/<circle[^>]*r="3.5"/g)).toHaveLength(1);
  });
});
