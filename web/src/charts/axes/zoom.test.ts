import { expect, test } from 'vitest';

import { layoutPlot, type AxesSpec } from './plot-layout';
import { getAxesAt, getDragAxes, panBy, zoomToRect, zoomAround } from './zoom';

const plan: AxesSpec = {
  x: { kind: 'linear', domain: [0, 100], format: 'number' },
  y: { kind: 'log', domain: [1, 100] },
  y2: { kind: 'linear', domain: [0, 10] },
};
const layout = layoutPlot(plan, { width: 476, height: 230 }, (text) => text.length * 6);
const { plotArea } = layout;
const at = (x: number, y: number): { x: number; y: number } => ({
  x: plotArea.left + x * plotArea.width,
  y: plotArea.top + y * plotArea.height,
});

test('a box spans what it covers on all axes', () => {
  const extent = zoomToRect(layout, at(0.25, 0.5), at(0.75, 1));
  expect(extent?.x[0]).toBeCloseTo(25);
  expect(extent?.x[1]).toBeCloseTo(75);
  expect(extent?.y[0]).toBeCloseTo(1);
  expect(extent?.y[1]).toBeCloseTo(10);
  expect(extent?.y2?.[1]).toBeCloseTo(5);
});

test('a box that leaves the frame ends there', () => {
  const extent = zoomToRect(layout, at(0.5, 0.5), at(9, 9));
  expect(extent?.x[1]).toBeCloseTo(100);
  expect(extent?.y[0]).toBeCloseTo(1);
});

test('a flat drag is along the horizontal axis, a narrow one along the vertical', () => {
  expect(getDragAxes(layout, at(0.2, 0.5), at(0.8, 0.51))).toBe('x');
  expect(getDragAxes(layout, at(0.5, 0.2), at(0.51, 0.8))).toBe('y');
  expect(zoomToRect(layout, at(0.2, 0.5), at(0.8, 0.51))?.y).toEqual([1, 100]);
});

test('beside the frame there is one axis', () => {
  expect(getAxesAt(layout, { x: plotArea.left + 9, y: plotArea.top + plotArea.height + 9 })).toBe(
    'x',
  );
  expect(getAxesAt(layout, { x: plotArea.left - 9, y: plotArea.top + 9 })).toBe('y');
  expect(getAxesAt(layout, at(0.5, 0.5))).toBe('both');
});

test('moving the paper to the right shows what was further left', () => {
  const extent = panBy(layout, plotArea.width / 10, 0);
  expect(extent?.x[0]).toBeCloseTo(-10);
  expect(extent?.x[1]).toBeCloseTo(90);
});

test('the place under the pointer stays where it is', () => {
  const extent = zoomAround(layout, at(0.25, 0.5), 2, 'both');
  expect(extent?.x[0]).toBeCloseTo(12.5);
  expect(extent?.x[1]).toBeCloseTo(62.5);
  expect(Math.sqrt((extent?.y[0] ?? 0) * (extent?.y[1] ?? 0))).toBeCloseTo(10);
});

test('finer than numbers are nobody can zoom', () => {
  expect(zoomAround(layout, at(0.5, 0.5), 1e15, 'both')).toBe(null);
  expect(zoomToRect(layout, at(0.5, 0.2), at(0.5, 0.2))).toEqual(null);
});
