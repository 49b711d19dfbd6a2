import { expect, test } from 'vitest';

import type { Renderer } from '../../../charts/renderer/renderer';
import { makeColors } from './datapoint-colors';
import { exportPlotSvg, type PlotImage } from './plot-export';
import { layoutCells, makeAxis, makeFacet } from './plot-layout';

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
