import { expect, test } from 'vitest';

import { computeTrialColors, makeAxis } from '../model/column-axes';
import { makeColumn } from '../model/trial-test-tools';
import { computeLineYs, findNearestLine, layoutAxes, LineRasterizer } from './parallel-coordinates';

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

const RAMP = [
  [0, 0, 0],
  [10, 20, 30],
  [90, 90, 90],
];

test('rasterized pixels have the mean color of their lines and are more opaque with more lines', () => {
  const lineYs = [Float32Array.of(1, 1, 3), Float32Array.of(1, 1, 3)];
  const levels = Uint8Array.of(0, 2, 2);
  const rasterizer = new LineRasterizer({ width: 6, height: 4, xs: [1, 5], lineYs, levels });
  const { pixels } = rasterizer.draw(Int32Array.of(0, 1, 2), RAMP, 0.5);
  const at = (x: number, y: number): number[] => [
    ...pixels.slice(4 * (y * 6 + x), 4 * (y * 6 + x) + 4),
  ];
  expect(at(2, 1)).toEqual([10, 20, 30, 191]);
  expect(at(2, 3)).toEqual([90, 90, 90, 127]);
  expect(at(0, 1)).toEqual([0, 0, 0, 0]);
});

test('a rasterizer that has drawn other lines draws the same as a new one', () => {
  const count = 400;
  const random = (seed: number): number => (Math.sin(seed * 12.9898) * 43758.5453) % 1;
  const makeYs = (seed: number): Float32Array =>
    Float32Array.from({ length: count }, (_, row) => 30 * Math.abs(random(seed + row)));
  const lines = {
    ...{ width: 60, height: 32, xs: [0, 20, 59] },
    lineYs: [makeYs(1), makeYs(1000), makeYs(2000)],
    levels: Uint8Array.from({ length: count }, (_, row) => row % 3),
  };
  const used = new LineRasterizer(lines);
  for (const [low, high] of [
    [0, 400],
    [10, 390],
    [10, 200],
    [150, 260],
    [0, 0],
    [0, 30],
  ] as const) {
    const rows = Int32Array.from({ length: high - low }, (_, index) => low + index);
    const expected = new LineRasterizer(lines).draw(rows, RAMP, 0.2);
    expect([...used.draw(rows, RAMP, 0.2).pixels].join()).toBe([...expected.pixels].join());
  }
});
