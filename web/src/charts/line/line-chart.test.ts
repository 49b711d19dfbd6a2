import { describe, expect, test } from 'vitest';

import { layoutPlot } from '../axes/plot-axes';
import { LIGHT_THEME } from '../renderer/renderer';
import { SvgRenderer } from '../renderer/image-export';
import type { Line } from '../types';
import {
  drawEndLabels,
  findNearestLine,
  findNextX,
  getValuesAt,
  measureEndLabels,
  spreadPositions,
} from './line-overlay';
import {
  exportLineChartForPaper,
  exportLineChartSvg,
  type LineChartExport,
} from './line-chart-export';
import { drawReferenceLines, findCountChanges } from './line-renderer';

const measure = (text: string): number => text.length * 6;

function drawReferenceLine(xDomain: readonly [number, number], label: string): string {
  const layout = layoutPlot(
    {
      x: { kind: 'linear', domain: xDomain, format: 'number' },
      y: { kind: 'linear', domain: [0, 1] },
      y2: null,
    },
    { width: 448, height: 230 },
    measure,
  );
  const renderer = new SvgRenderer(measure);
  const referenceLine = {
    id: 'a',
    x: Float64Array.of(0, 0.5, 1),
    y: Float64Array.of(0, 0.5, 1),
    label,
  };
  drawReferenceLines(renderer, layout, [referenceLine], LIGHT_THEME);
  return renderer.toSvg(448, 230, '');
}

test('a reference line has its label at the visible end', () => {
  expect(drawReferenceLine([0, 1], 'chance')).toContain('>chance</text>');
  const far = /<text transform="translate\(([\d.]+)/.exec(drawReferenceLine([0, 1], 'chance'))?.[1];
  const near = /<text transform="translate\(([\d.]+)/.exec(
    drawReferenceLine([0, 2], 'chance'),
  )?.[1];
  expect(Number(near)).toBeLessThan(Number(far));
});

test('changes of the number of series are marked, but not gaps', () => {
  const count = Int32Array.of(3, 3, 2, 1, 2, 2);
  const center = Float64Array.of(1, 1, 1, NaN, 1, 1);
  expect(findCountChanges({ count, center })).toEqual([2]);
  expect(findCountChanges({ center })).toEqual([]);
});

test('an invisible reference line has no label', () => {
  expect(drawReferenceLine([5, 6], 'chance')).not.toContain('chance');
  expect(drawReferenceLine([0, 1], '')).not.toContain('<text');
});

function makeLine(id: string, x: number[], y: number[], more: Partial<Line> = {}): Line {
  const base = { id, label: id, color: '#000000', dash: [], axis: 0 as const };
  return { ...base, x: Float64Array.from(x), y: Float64Array.from(y), ...more };
}

const layout = layoutPlot(
  {
    x: { kind: 'linear', domain: [0, 100], format: 'number' },
    y: { kind: 'linear', domain: [0, 10] },
    y2: null,
  },
  { width: 448, height: 230 },
  (text) => text.length * 6,
);
const toPoint = (x: number, y: number): { x: number; y: number } => ({
  x: layout.x.scale.toPixel(x),
  y: layout.y.scale.toPixel(y),
});

test('the point nearest in x and its raw value are returned for each line', () => {
  const lines = [
    makeLine('a', [0, 10, 20], [1, 2, 3], { raw: Float64Array.of(1.5, 2.5, 3.5) }),
    makeLine('b', [12, 30], [7, 8]),
    makeLine('empty', [], []),
  ];
  expect(getValuesAt(lines, 14)).toEqual([
    { id: 'a', x: 10, y: 2, raw: 2.5 },
    { id: 'b', x: 12, y: 7, raw: null },
  ]);
});

test('the first and last point are nearest outside the range', () => {
  const lines = [makeLine('a', [5, 6, 7], [1, 2, 3])];
  expect(getValuesAt(lines, -100)[0]?.x).toBe(5);
  expect(getValuesAt(lines, 100)[0]?.x).toBe(7);
});

test('unsorted x values are searched linearly', () => {
  const lines = [makeLine('a', [9, 1, 5], [1, 2, 3], { scatter: true })];
  expect(getValuesAt(lines, 2)[0]).toMatchObject({ x: 1, y: 2 });
});

test('binary search equals linear search on random lines', () => {
  const x = Array.from({ length: 400 }, (_, index) => index * 3 + ((index * 7) % 3));
  const column = makeLine('a', x, x);
  for (let wanted = -5; wanted < 1210; wanted += 3.7) {
    const best = Math.min(...x.map((value) => Math.abs(value - wanted)));
    expect(Math.abs((getValuesAt([column], wanted)[0]?.x ?? NaN) - wanted)).toBe(best);
  }
});

test('the nearest line is found by distance to its segments', () => {
  const lines = [makeLine('flat', [0, 100], [5, 5]), makeLine('steep', [40, 60], [0, 10])];
  expect(findNearestLine(lines, layout, toPoint(20, 5.2))).toBe('flat');
  expect(findNearestLine(lines, layout, toPoint(57, 8))).toBe('steep');
});

test('distant lines and gaps are not found', () => {
  const lines = [makeLine('a', [0, 50, 100], [1, NaN, 1])];
  expect(findNearestLine(lines, layout, toPoint(50, 9))).toBe(null);
  expect(findNearestLine(lines, layout, toPoint(50, 1))).toBe(null);
  expect(findNearestLine(lines, layout, toPoint(1, 1.2))).toBe('a');
});

test('arrow keys move to the next point of any line', () => {
  const lines = [makeLine('a', [0, 10, 20], [1, 1, 1]), makeLine('b', [13, 14], [1, 1])];
  expect(findNextX(lines, 10, 1)).toBe(13);
  expect(findNextX(lines, 10, 5)).toBe(20);
  expect(findNextX(lines, 13, -1)).toBe(10);
  expect(findNextX(lines, 0, -1)).toBe(null);
  expect(findNextX(lines, 20, 1)).toBe(null);
});

test('unsorted curves are found along their whole length', () => {
  const upright = makeLine('a', [50, 50, 50], [0, 5, 10], { scatter: true });
  const other = makeLine('b', [20, 60, 20], [2, 3, 4], { scatter: true });
  expect(findNearestLine([upright, other], layout, toPoint(51, 8))).toBe('a');
  expect(findNearestLine([upright, other], layout, toPoint(22, 3.9))).toBe('b');
  expect(
    findNearestLine([makeLine('lone', [NaN, 30, NaN], [1, 5, 1])], layout, toPoint(31, 5)),
  ).toBe('lone');
});

const measureText = (text: string): number => text.length * 6;

function makeExportLine(id: string, axis: 0 | 1 = 0): Line {
  const x = Float64Array.of(0, 50, 100);
  const y = Float32Array.of(0.1, 0.5, 0.9);
  return { id, label: id, color: '#4269d0', dash: [6, 4], axis, x, y };
}

function makeExport(lines: readonly Line[], more: Partial<LineChartExport> = {}): LineChartExport {
  return {
    title: 'loss',
    xLabel: 'step',
    yLabel: 'nats',
    y2Label: 'tokens',
    lines,
    bands: [],
    annotations: [{ id: '1', x: 50, text: 'lr < 1e-3' }],
    axes: {
      x: { kind: 'linear', domain: [0, 100], format: 'step' },
      y: { kind: 'linear', domain: [0, 1] },
      y2: null,
    },
    ...more,
  };
}

const textsIn = (svg: string): string[] =>
  [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text ?? '');

test('an export has a title, axis labels, legend and annotations', () => {
  const texts = textsIn(
    exportLineChartSvg(makeExport([makeExportLine('conv'), makeExportLine('dense')]), measureText),
  );
  for (const word of ['loss', 'step', 'nats', 'conv', 'dense', 'lr &#60; 1e-3', '100', '1.0'])
    expect(texts).toContain(word);
  expect(texts).not.toContain('tokens');
});

test('the right axis has a label if it exists', () => {
  const plan = { ...makeExport([]).axes, y2: { kind: 'linear', domain: [0, 5] } as const };
  const texts = textsIn(
    exportLineChartSvg(
      makeExport([makeExportLine('a'), makeExportLine('b', 1)], { axes: plan }),
      measureText,
    ),
  );
  expect(texts).toContain('tokens');
});

test('the legend lists the first lines and counts the rest', () => {
  const lines = Array.from({ length: 500 }, (_, at) => makeExportLine(`run_${at}`));
  const texts = textsIn(exportLineChartSvg(makeExport(lines), measureText));
  expect(texts).toContain('run_59');
  expect(texts).not.toContain('run_60');
  expect(texts).toContain('and 440 more');
});

test('the legend wraps and makes the image higher', () => {
  const heightOf = (svg: string): number => Number(/height="(\d+)"/.exec(svg)?.[1]);
  const few = heightOf(exportLineChartSvg(makeExport([makeExportLine('a')]), measureText));
  const many = heightOf(
    exportLineChartSvg(
      makeExport(Array.from({ length: 30 }, () => makeExportLine('a-long-name'))),
      measureText,
    ),
  );
  expect(many).toBeGreaterThan(few);
});

test('dashes are kept', () => {
  expect(exportLineChartSvg(makeExport([makeExportLine('a')]), measureText)).toContain(
    'stroke-dasharray="6 4"',
  );
});

test('an image for a paper has its size, and labels of the size of the font', () => {
  const format = { widthMm: 85, heightMm: 60, fontPt: 8, fontFamily: 'Times' };
  const svg = exportLineChartForPaper(makeExport([makeExportLine('conv')]), format, measureText);
  expect(svg).toContain('width="85mm" height="60mm"');
  expect(svg).toContain('font-family="Times"');
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)?.map(Number) ?? [];
  // The labels of the legend have 11 units.
  expect((11 / (width ?? 0)) * (85 / 25.4) * 72).toBeCloseTo(8, 1);
  expect((width ?? 0) / (height ?? 1)).toBeCloseTo(85 / 60, 1);
});

describe('end labels', () => {
  const measure = (text: string): number => text.length * 6;

  test('labels that do not overlap stay where lines end', () => {
    expect(spreadPositions([50, 10, 90], 13, [0, 100])).toEqual([50, 10, 90]);
  });

  test('overlapping labels are moved apart around their mean', () => {
    expect(spreadPositions([50, 50, 50], 10, [0, 100])).toEqual([40, 50, 60]);
    expect(spreadPositions([52, 48, 10], 10, [0, 100])).toEqual([55, 45, 10]);
  });

  test('labels stay within the chart, in the order of the lines', () => {
    expect(spreadPositions([0, 1, 2], 10, [0, 100])).toEqual([0, 10, 20]);
    expect(spreadPositions([100, 99], 10, [0, 100])).toEqual([100, 90]);
  });

  test('labels have the colors of their lines and space beside the chart', () => {
    const labels = new Map([
      ['a', 'first'],
      ['b', 'second run'],
    ]);
    expect(measureEndLabels(labels, measure)).toBe(66);
    expect(measureEndLabels(new Map(), measure)).toBe(0);
    const axes = {
      x: { kind: 'linear', domain: [0, 10], format: 'number' },
      y: { kind: 'linear', domain: [0, 1] },
      y2: null,
    } as const;
    const size = { width: 600, height: 200 };
    const layout = layoutPlot(axes, size, measure, { top: 0, right: 66, bottom: 0, left: 0 });
    const renderer = new SvgRenderer(measure);
    const makeLine = (id: string, color: string, y: number) => ({
      ...{ id, label: id, color, dash: [], axis: 0 as const },
      x: Float64Array.of(0, 10),
      y: Float64Array.of(y, y),
    });
    const lines = [
      makeLine('a', '#ff0000', 0.2),
      makeLine('b', '#00ff00', 0.9),
      makeLine('c', '', 0),
    ];
    drawEndLabels(renderer, layout, lines, [], labels);
    const svg = renderer.toSvg(600, 200, '');
    expect(svg).toMatch(/#ff0000[^>]*>first</);
    expect(svg).toMatch(/#00ff00[^>]*>second run</);
    expect(svg.match(/<text/g)).toHaveLength(2);
  });
});
