import { expect, test } from 'vitest';

import { LIGHT_THEME, type Renderer, type TextStyle } from '../../../charts/renderer/renderer';
import { makeColors } from './datapoint-colors';
import { drawAxes, exportPlotSvg, type PlotImage } from './plot-drawing';
import { layoutCells, makeAxis, makeFacet } from './plot-layout';

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

function expectSpace(texts: readonly { readonly middle: number; readonly length: number }[]): void {
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
    expect.arrayContaining(['Datapoints of people', 'group', 'a &#38; b', 'c', 'age', '17', '10']),
  );
  expect(svg).toContain('stroke="#1a9850"');
});

test('filtered points are left out', () => {
  const svg = exportPlotSvg(makeImage(Uint8Array.of(1, 0, 0, 1)), 'people', measure);
  expect(svg.match(/<circle[^>]*r="3.5"/g)).toHaveLength(1);
});
