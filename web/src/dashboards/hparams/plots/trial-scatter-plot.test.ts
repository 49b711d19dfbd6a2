import { describe, expect, test } from 'vitest';

import { parseRgb } from '../../../lib/colors';
import {
  computeTrialColors,
  getColorRamp,
  makeAxis,
  OTHER_POSITION,
  ScatterAxisCache,
} from '../model/column-axes';
import {
  applyFilters,
  findScatterBrushOfFilter,
  listMaskRows,
  makeFilterFromScatterBrush,
} from '../model/trial-filters';
import { makeColumn, makeTrialsOf } from '../model/trial-test-tools';
import {
  computeMeanSurface,
  countCoveringDots,
  getContourColors,
  rasterizeSurface,
} from './trial-scatter-plot';

const ALL = Int32Array.of(0, 1, 2, 3);

test('dots are exactly at their values', () => {
  const column = makeColumn('lr', [0.1, 1, 1, 1, 0.1]);
  const { axis, positions } = new ScatterAxisCache((one) => makeAxis(one, 'log')).get(column);
  const ticks = new Map(axis.ticks.map(({ text, position }) => [text, Math.fround(position)]));
  const [low, high] = [ticks.get('0.1'), ticks.get('1')];
  expect([...positions]).toEqual([low, high, high, high, low]);
});

test('texts in a column of numbers are beside the axis of numbers', () => {
  const numbers = makeColumn('batch', [16, 32, 64, null]);
  const column = { ...numbers, texts: [null, null, null, 'auto'] };
  const { axis, positions, valuePositions } = new ScatterAxisCache((one) =>
    makeAxis(one, 'linear'),
  ).get(column);
  expect(positions[3]).toBeCloseTo(OTHER_POSITION);
  expect(valuePositions[3]).toBeNaN();
  expect(positions[0]).toBeGreaterThan(2 * OTHER_POSITION);
  expect(axis.ticks.map(({ text }) => text)).toEqual(['Other', '16', '32', '64']);
  const trials = makeTrialsOf(column);
  const brushed = (from: number, to: number): number[] => {
    const filter = makeFilterFromScatterBrush(axis, [from, to]);
    const brush = findScatterBrushOfFilter(axis, filter);
    expect(brush?.[0] === 0).toBe(from === 0);
    return [...listMaskRows(applyFilters(trials, new Map([['batch', filter]])))];
  };
  expect(brushed(0, 0.1)).toEqual([3]);
  expect(brushed(0, positions[1] ?? 1)).toEqual([0, 1, 3]);
  expect(brushed(0.15, 1)).toEqual([0, 1, 2]);
});

test('dots at the same position are counted', () => {
  const positions = { x: Float32Array.of(0, 1, 0, 0), y: Float32Array.of(0, 1, 0, 1) };
  const area = { left: 0, top: 0, width: 100, height: 100 };
  expect([...countCoveringDots(positions, area, ALL)]).toEqual([1, 0, 0, 0]);
});

describe('the surface of a contour plot', () => {
  const values = Float32Array.of(0, 0.25, 0.75, 1);

  test('has one cell for each category, without anything in between', () => {
    const x = Float32Array.of(0.25, 0.25, 0.75, 0.75);
    const y = Float32Array.of(0.25, 0.75, 0.25, 0.75);
    const surface = computeMeanSurface({ x, y }, values, ALL, { x: 2, y: 2 });
    expect([surface.columns, surface.lines]).toEqual([2, 2]);
    // From the top.
    expect([...surface.values]).toEqual([0.25, 1, 0, 0.75]);
  });

  test('is interpolated along numbers only', () => {
    const x = Float32Array.of(0.2, 0.8, 0.2, 0.8);
    const y = Float32Array.of(0.25, 0.25, 0.75, 0.75);
    const {
      columns,
      lines,
      values: means,
    } = computeMeanSurface({ x, y }, values, ALL, {
      x: null,
      y: 2,
    });
    expect([columns, lines]).toEqual([80, 2]);
    const below = means.slice(80);
    expect(below[16]).toBeLessThan(0.01);
    expect(below[39]).toBeGreaterThan(0.05);
    expect(Math.max(...below)).toBeLessThanOrEqual(0.25);
    expect(Math.min(...means.slice(0, 80))).toBeGreaterThanOrEqual(0.7499);
  });

  test('has the colors of the legend', () => {
    const ramp = getColorRamp(false);
    const surface = { columns: 4, lines: 1, values: Float64Array.from(values) };
    const { width, pixels } = rasterizeSurface(surface, ramp, false);
    const legend = getContourColors(ramp);
    const read = (column: number): number[] => {
      const start = 4 * Math.floor(((column + 0.5) / 4) * width);
      return [...pixels.subarray(start, start + 4)];
    };
    const expected = [0, 3, 9, 11].map((level) => [...parseRgb(legend[level] ?? ''), 255]);
    expect([0, 1, 2, 3].map(read)).toEqual(expected);
  });

  test('has nearly the color of a trial with the same value', () => {
    const column = makeColumn('loss', [0, 0.3, 0.6, 1], 'metric');
    const { levels } = computeTrialColors(makeAxis(column, 'linear'), true);
    const ramp = getColorRamp(false);
    const contour = getContourColors(ramp);
    for (const [row, value] of [0, 0.3, 0.6, 1].entries()) {
      const level = Math.min(11, Math.floor((1 - value) * 12));
      const shade = ramp.indexOf(contour[level] ?? '');
      expect(Math.abs(shade - (levels[row] ?? 0))).toBeLessThanOrEqual(2);
    }
  });
});
