import { describe, expect, test } from 'vitest';

import { sortOrdersCodec } from '../../components/data-table';
import { parseRgb } from '../../lib/colors';
import { axesCodec, filtersCodec, withAxisSetting } from './hparams-settings';
import {
  computeTrialColors,
  getColorRamp,
  makeAxis,
  OTHER_POSITION,
  ScatterAxisCache,
} from './model/column-axes';
import {
  applyFilters,
  findScatterBrushOfFilter,
  listMaskRows,
  makeFilterFromScatterBrush,
} from './model/trial-filters';
import { makeColumn, makeTrialsOf } from './model/trial-test-tools';
import type { TrialColumn } from './model/trials';
import { findNearestCurve, makeCurveAxes, readCurve } from './plots/curve-plot';
import {
  computeLineYs,
  findNearestLine,
  layoutAxes,
  LineRasterizer,
} from './plots/parallel-coordinates';
import { findBar, getBarRect, makeTimeAxis, makeTimeline } from './plots/timeline';
import {
  computeMeanSurface,
  countCoveringDots,
  getContourColors,
  rasterizeSurface,
} from './plots/trial-scatter-plot';

describe('hparams settings', () => {
  test('filters, sort keys and axes survive a round trip through the URL', () => {
    const filters = new Map([
      ['metric:|acc', { range: [0.9, 1] as const }],
      ['hparam:a,b', { values: ['x,y'], blank: true }],
    ]);
    expect(filtersCodec.parse(filtersCodec.format(filters))).toEqual(filters);
    const order = [
      { key: 'metric:|a,b', descending: true },
      { key: 'name', descending: false },
    ];
    expect(sortOrdersCodec.parse(sortOrdersCodec.format(order))).toEqual(order);
    const axes = withAxisSetting(new Map([['x', { flipped: true }]]), 'x', { scale: 'log' });
    expect(axesCodec.parse(axesCodec.format(axes))).toEqual(axes);
    expect(axes.get('x')).toEqual({ flipped: true, scale: 'log' });
  });

  test('an invalid URL parameter means no filters', () => {
    for (const text of [
      '',
      '{',
      '[1]',
      '[["a",3]]',
      '[["a",{"range":[1]}]]',
      '[["a",{"values":[1]}]]',
    ])
      expect(filtersCodec.parse(text).size).toBe(0);
  });
});

describe('curve plot', () => {
  const RISING = { x: [0, 1, 4], y: [0, 10, 40], color: 'red' };
  const PRUNED = { x: [1], y: [30], color: 'blue', crossed: true };
  const FLAT = { x: [0, 2], y: [30, 30], color: 'blue' };

  test('reads a curve between its points, and only between its ends', () => {
    expect(readCurve(RISING, 2.5)).toBe(25);
    expect(readCurve({ ...RISING, stepped: true }, 3.9)).toBe(10);
    expect(readCurve(RISING, 4)).toBe(40);
    expect(readCurve(FLAT, 2.1)).toBeNaN();
  });

  test('finds the curve nearest to the pointer', () => {
    const axes = makeCurveAxes([RISING, FLAT], 'step', 'loss', null);
    const area = { left: 50, top: 10, width: 400, height: 200 };
    const find = (x: number, y: number): number | null =>
      findNearestCurve([RISING, FLAT], area, axes, x, y);
    expect(find(50 + 100, 60)).toBe(1);
    expect(find(50 + 300, 60)).toBe(0);
    expect(find(50 + 100, 110)).toBeNull();
    // A trial that was pruned after one value is a point.
    const axesOfPoint = makeCurveAxes([RISING, PRUNED], 'step', 'loss', null);
    const findPoint = (x: number, y: number): number | null =>
      findNearestCurve([PRUNED], area, axesOfPoint, x, y);
    expect(findPoint(50 + 103, 10 + 47)).toBe(0);
    expect(findPoint(50 + 120, 10 + 47)).toBeNull();
  });
});

describe('parallel coordinates', () => {
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
});

describe('timeline', () => {
  const STARTS = Float64Array.of(1100, 1000, 1005, NaN, 1010);
  const DURATIONS = Float64Array.of(20, 10, 10, 5, NaN);
  const COLUMN: TrialColumn = {
    ...{ key: 'start', kind: 'info', title: 'Start', description: '', format: 'time' },
    ...{ values: STARTS, categories: null, missingMask: null, varies: true },
  };
  const AREA = { left: 50, top: 10, width: 240, height: 200 };

  test('trials that run at the same time are in different lanes', () => {
    const { bars, laneCount } = makeTimeline(Int32Array.of(0, 1, 2, 3, 4), STARTS, DURATIONS);
    expect(bars.map(({ row, lane, end }) => [row, lane, end])).toEqual([
      [1, 0, 10],
      [2, 1, 15],
      [4, 0, 10],
      [0, 0, 120],
    ]);
    expect(laneCount).toBe(2);
  });

  test('a bar is found where it is drawn', () => {
    const timeline = makeTimeline(Int32Array.of(0, 1, 2), STARTS, DURATIONS);
    const axis = makeTimeAxis(COLUMN, timeline);
    for (const bar of timeline.bars) {
      const { left, top, width, height } = getBarRect(AREA, axis, timeline.laneCount, bar);
      for (const x of [left, left + width / 2, left + width])
        expect(findBar(AREA, axis, timeline, x, top + height / 2)).toBe(bar);
    }
    expect(findBar(AREA, axis, timeline, AREA.left + 120, AREA.top + 5)).toBeNull();
  });

  test('a trial without a duration is a narrow bar', () => {
    const timeline = makeTimeline(Int32Array.of(4), STARTS, DURATIONS);
    const axis = makeTimeAxis(COLUMN, timeline);
    const [bar] = timeline.bars;
    expect(bar && getBarRect(AREA, axis, 1, bar).width).toBe(3);
    expect(findBar(AREA, axis, timeline, AREA.left + 3, AREA.top + 9)).toBe(bar);
  });
});

describe('trial scatter plot', () => {
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
});
