import { expect, test } from 'vitest';

import { layoutPlot } from '../axes/plot-layout';
import { SvgRenderer } from '../renderer/svg-renderer';
import { drawEndLabels, measureEndLabels, spreadPositions } from './end-labels';

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
