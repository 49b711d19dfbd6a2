import { expect, test } from 'vitest';

import { computeTrialColors, makeAxis } from '../model/column-axes';
import { makeColumn } from '../model/trial-fixtures';
import { computeLineYs, findNearestLine, layoutAxes, rasterizeLines } from './parallel-coordinates';

const UNITS = makeColumn(
  'units',
  Array.from({ length: 20 }, (_, row) => row),
);
const SCORE = makeColumn(
  'score',
  Array.from({ length: 20 }, (_, row) => (row === 7 ? null : 19 - row)),
);

test('finds the line under the pointer; lines of missing values cross below the axis', () => {
  const axes = [makeAxis(UNITS, 'linear'), makeAxis(SCORE, 'linear')];
  const layout = layoutAxes(axes, { width: 512, height: 400 });
  const lineYs = computeLineYs(layout, computeTrialColors(makeAxis(SCORE, 'linear'), false));
  const [left = 0, right = 0] = layout.axes.map(({ x }) => x);
  const rows = Int32Array.from(UNITS.values);
  expect(findNearestLine(layout, lineYs, rows, left, lineYs[0]?.[3] ?? 0)).toBe(3);
  expect(findNearestLine(layout, lineYs, rows, right, lineYs[1]?.[12] ?? 0)).toBe(12);
  expect(findNearestLine(layout, lineYs, rows, right, layout.missingY)).toBe(7);
  expect(findNearestLine(layout, lineYs, Int32Array.of(3), left, layout.top)).toBeNull();
});

test('rasterized pixels have the mean color of their lines and are more opaque with more lines', () => {
  const lineYs = [Float32Array.of(1, 1, 3), Float32Array.of(1, 1, 3)];
  const { pixels } = rasterizeLines({
    width: 6,
    height: 4,
    xs: [1, 5],
    lineYs,
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
