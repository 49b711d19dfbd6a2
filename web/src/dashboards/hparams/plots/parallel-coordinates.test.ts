import { expect, test } from 'vitest';

import { computeTrialColors } from '../model/trial-colors';
import { makeAxis } from '../model/column-axes';
import { makeColumn } from '../model/trial-fixtures';
import { computeLineYs, findNearestLine, layoutAxes, rasterizeLines } from './parallel-coordinates';
import { startBrushDrag } from '../model/trial-filters';

const UNITS = makeColumn(
  'units',
  Array.from({ length: 20 }, (_, row) => row),
);
const SCORE = makeColumn(
  'score',
  Array.from({ length: 20 }, (_, row) => (row === 7 ? null : 19 - row)),
);

test('the line under the pointer is found between axes, and a missing value lies below its axis', () => {
  const axes = [makeAxis(UNITS, 'linear'), makeAxis(SCORE, 'linear')];
  const layout = layoutAxes(axes, { width: 512, height: 400 });
  const ink = computeTrialColors(makeAxis(SCORE, 'linear'), false);
  const heights = computeLineYs(layout, ink);
  const [left = 0, right = 0] = layout.axes.map(({ x }) => x);
  const rows = Int32Array.from(UNITS.values);
  expect(findNearestLine(layout, heights, rows, left, heights[0]?.[3] ?? 0)).toBe(3);
  expect(findNearestLine(layout, heights, rows, right, heights[1]?.[12] ?? 0)).toBe(12);
  expect(findNearestLine(layout, heights, rows, right, layout.missingY)).toBe(7);
  expect(findNearestLine(layout, heights, Int32Array.of(3), left, layout.top)).toBeNull();
});

test('a drag pulls an end, moves the whole, or begins a new brush', () => {
  expect(startBrushDrag([0.2, 0.6], 0.6, 100)(0.9)).toEqual([0.2, 0.9]);
  expect(startBrushDrag([0.2, 0.6], 0.2, 100)(0.7)).toEqual([0.6, 0.7]);
  expect(startBrushDrag([0.2, 0.6], 0.4, 100)(0.9)).toEqual([
    expect.closeTo(0.6),
    expect.closeTo(1),
  ]);
  expect(startBrushDrag([0.2, 0.6], 0.9, 100)(0.7)).toEqual([0.7, 0.9]);
  expect(startBrushDrag(null, 0.5, 100)(0.1)).toEqual([0.1, 0.5]);
});

test('thousands of lines become pixels: the more there are the more opaque, in the mean of colours', () => {
  const heights = [Float32Array.of(1, 1, 3), Float32Array.of(1, 1, 3)];
  const { pixels } = rasterizeLines({
    width: 6,
    height: 4,
    xs: [1, 5],
    lineYs: heights,
    rows: Int32Array.of(0, 1, 2),
    levels: Uint8Array.of(0, 2, 2),
    rampColors: [
      [0, 0, 0],
      [10, 20, 30],
      [90, 90, 90],
    ],
    opacity: 0.5,
  });
  const at = (x: number, y: number): number[] => [
    ...pixels.slice(4 * (y * 6 + x), 4 * (y * 6 + x) + 4),
  ];
  expect(at(2, 1)).toEqual([10, 20, 30, 191]);
  expect(at(2, 3)).toEqual([90, 90, 90, 127]);
  expect(at(0, 1)).toEqual([0, 0, 0, 0]);
});
