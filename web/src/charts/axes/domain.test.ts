import { describe, expect, test } from 'vitest';

import type { AxisLimits, Line } from '../types';
import {
  type AxisSettings,
  fitXDomain,
  fitYDomain,
  getAxesAt,
  getDragAxes,
  panBy,
  quickselect,
  resolveAxes,
  zoomAround,
  zoomToRect,
} from './domain';
import { type AxesSpec, layoutPlot } from './plot-layout';

describe('domain', () => {
  const UNLIMITED: AxisLimits = { low: null, high: null };

  function makeLine(x: number[], y: number[], more: Partial<Line> = {}): Line {
    const base = { id: 'a', label: 'a', color: '#000000', dash: [], axis: 0 as const };
    return { ...base, x: Float64Array.from(x), y: Float32Array.from(y), ...more };
  }

  const content = (...lines: Line[]): { lines: Line[]; bands: [] } => ({ lines, bands: [] });
  const vertical = {
    axis: 0,
    kind: 'linear',
    limits: UNLIMITED,
    ignoreOutliers: false,
    within: null,
    ticks: 5,
  } as const;

  test('the x axis spans all lines exactly', () => {
    const both = content(makeLine([0, 5], [1, 1]), makeLine([3, 9], [1, 1]));
    expect(fitXDomain(both, 'linear', UNLIMITED)).toEqual([0, 9]);
  });

  test('unsorted x values are scanned', () => {
    const scatter = content(makeLine([5, -2, 9, 3], [1, 1, 1, 1], { scatter: true }));
    expect(fitXDomain(scatter, 'linear', UNLIMITED)).toEqual([-2, 9]);
  });

  test('a log axis starts at the first positive step', () => {
    expect(fitXDomain(content(makeLine([0, 0, 10, 100], [1, 1, 1, 1])), 'log', UNLIMITED)).toEqual([
      10, 100,
    ]);
  });

  test('a single step is centered, and an empty chart has an axis', () => {
    expect(fitXDomain(content(makeLine([7], [1])), 'linear', UNLIMITED)).toEqual([6, 8]);
    expect(fitXDomain(content(), 'linear', UNLIMITED)).toEqual([0, 1]);
    expect(fitYDomain(content(), vertical)).toEqual([0, 1]);
  });

  test('the y axis ends at round numbers around finite values', () => {
    const odd = content(makeLine([0, 1, 2, 3], [0.13, NaN, Infinity, 0.92]));
    expect(fitYDomain(odd, vertical)).toEqual([0, 1]);
  });

  test('non-negative values have no negative axis', () => {
    expect(fitYDomain(content(makeLine([0, 1], [0, 10])), vertical)[0]).toBe(0);
  });

  test('a single value is centered', () => {
    expect(fitYDomain(content(makeLine([0, 1], [3, 3])), vertical)).toEqual([0, 6]);
    expect(fitYDomain(content(makeLine([0], [0])), vertical)).toEqual([-1, 1]);
  });

  test('raw values and column extremes are included', () => {
    const raw = Float32Array.of(0, 48);
    expect(fitYDomain(content(makeLine([0, 1], [20, 30], { raw })), vertical)[1]).toBe(50);
    const high = Float32Array.of(20, 95);
    const low = Float32Array.of(20, 30);
    expect(fitYDomain(content(makeLine([0, 1], [20, 30], { low, high })), vertical)[1]).toBe(100);
  });

  test('outliers are excluded as in TensorBoard: 5th to 95th percentile', () => {
    const y = Array.from({ length: 101 }, (_, at) => at / 100);
    y[50] = 1e9;
    y[51] = -1e9;
    const spiky = content(makeLine([...y.keys()], y));
    const [low, high] = fitYDomain(spiky, { ...vertical, ignoreOutliers: true });
    expect(low).toBe(0);
    expect(high).toBe(1);
    expect(fitYDomain(spiky, vertical)[1]).toBeGreaterThanOrEqual(1e9);
  });

  test('near values and few values are not outliers', () => {
    const ramp = Array.from({ length: 101 }, (_, at) => at);
    const slow = content(makeLine(ramp, ramp));
    expect(fitYDomain(slow, { ...vertical, ignoreOutliers: true })).toEqual([0, 100]);
    const few = content(makeLine([0, 1, 2, 3, 4], [1, 1, 1, 1, 500]));
    expect(fitYDomain(few, { ...vertical, ignoreOutliers: true })[1]).toBe(500);
  });

  test('only lines of an axis affect its domain', () => {
    const two = content(makeLine([0, 1], [0, 1]), makeLine([0, 1], [500, 900], { axis: 1 }));
    expect(fitYDomain(two, vertical)).toEqual([0, 1]);
    expect(fitYDomain(two, { ...vertical, axis: 1 })).toEqual([500, 900]);
  });

  test('only values in the visible x range affect the y domain', () => {
    const rising = content(makeLine([0, 1, 2, 3, 4], [0, 10, 20, 30, 400]));
    expect(fitYDomain(rising, { ...vertical, within: [1, 3] })).toEqual([10, 30]);
  });

  test('limits are applied unless they leave an empty range', () => {
    const some = content(makeLine([0, 10], [0.2, 0.8]));
    expect(fitYDomain(some, { ...vertical, limits: { low: -1, high: null } })).toEqual([-1, 0.8]);
    expect(fitYDomain(some, { ...vertical, limits: { low: 0.5, high: 0.6 } })).toEqual([0.5, 0.6]);
    expect(fitYDomain(some, { ...vertical, limits: { low: 5, high: null } })).toEqual([5, 6]);
    expect(fitXDomain(some, 'linear', { low: 2, high: 1 })).toEqual([0, 10]);
    expect(fitXDomain(some, 'log', { low: -5, high: null })).toEqual([10 / 2, 20]);
  });

  test('a log axis uses only positive values', () => {
    const [low, high] = fitYDomain(content(makeLine([0, 1, 2], [-1, 0.01, 100])), {
      ...vertical,
      kind: 'log',
    });
    expect(low).toBeGreaterThan(0.005);
    expect(low).toBeLessThanOrEqual(0.01);
    expect(high).toBeGreaterThanOrEqual(100);
  });

  test('finds the value that sorting would put at a rank', () => {
    const values = Float64Array.from({ length: 999 }, (_, at) => (at * 7919) % 1009);
    const sorted = values.slice().sort();
    for (const rank of [0, 1, 49, 500, 949, 998])
      expect(quickselect(values.slice(), rank)).toBe(sorted[rank]);
  });

  test('terminates for equal values', () => {
    expect(quickselect(new Float64Array(100).fill(3), 50)).toBe(3);
  });

  const NO_LIMITS = { low: null, high: null };
  const settings: AxisSettings = {
    xFormat: 'step',
    xScale: 'linear',
    yScale: 'linear',
    y2Scale: 'linear',
    xLimits: NO_LIMITS,
    yLimits: NO_LIMITS,
    y2Limits: NO_LIMITS,
    ignoreOutliers: false,
    yTickCount: 5,
  };

  function makeAxisLine(axis: 0 | 1, ...y: number[]): Line {
    const x = Float64Array.from(y, (_, at) => at);
    return { id: `${axis}`, label: '', color: '', dash: [], axis, x, y: Float64Array.from(y) };
  }

  test('without zoom, limits take precedence over data', () => {
    const content = { lines: [makeAxisLine(0, 0, 5, 10)], bands: [] };
    const plan = resolveAxes(content, { ...settings, yLimits: { low: null, high: 20 } }, null);
    expect(plan.x.domain).toEqual([0, 2]);
    expect(plan.y.domain).toEqual([0, 20]);
    expect(plan.y2).toBe(null);
  });

  test('zoom takes precedence over limits and data', () => {
    const zoom = { x: [1, 2], y: [3, 4] } as const;
    const limits = { low: 0, high: 20 };
    const content = { lines: [makeAxisLine(0, 0, 5, 10)], bands: [] };
    const plan = resolveAxes(content, { ...settings, yLimits: limits }, zoom);
    expect(plan.x.domain).toEqual([1, 2]);
    expect(plan.y.domain).toEqual([3, 4]);
  });

  test('a zoom that is invalid on a log scale is ignored', () => {
    const zoom = { x: [0, 2], y: [-1, 4] } as const;
    const content = { lines: [makeAxisLine(0, 1, 5, 10)], bands: [] };
    const plan = resolveAxes(content, { ...settings, yScale: 'log' }, zoom);
    expect(plan.x.domain).toEqual([0, 2]);
    expect(plan.y.domain[0]).toBeGreaterThan(0.9);
  });

  test('the right axis exists if a line uses it and fits the visible values', () => {
    const content = { lines: [makeAxisLine(0, 0, 1), makeAxisLine(1, 10, 20, 30, 900)], bands: [] };
    const zoom = { x: [0, 2], y: [0, 1] } as const;
    expect(resolveAxes(content, settings, zoom).y2?.domain).toEqual([10, 30]);
  });
});

describe('zoom', () => {
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

  test('a rectangle selects a range on all axes', () => {
    const extent = zoomToRect(layout, at(0.25, 0.5), at(0.75, 1));
    expect(extent?.x[0]).toBeCloseTo(25);
    expect(extent?.x[1]).toBeCloseTo(75);
    expect(extent?.y[0]).toBeCloseTo(1);
    expect(extent?.y[1]).toBeCloseTo(10);
    expect(extent?.y2?.[1]).toBeCloseTo(5);
  });

  test('a rectangle is clipped to the plot area', () => {
    const extent = zoomToRect(layout, at(0.5, 0.5), at(9, 9));
    expect(extent?.x[1]).toBeCloseTo(100);
    expect(extent?.y[0]).toBeCloseTo(1);
  });

  test('a flat drag zooms x, a narrow one y', () => {
    expect(getDragAxes(layout, at(0.2, 0.5), at(0.8, 0.51))).toBe('x');
    expect(getDragAxes(layout, at(0.5, 0.2), at(0.51, 0.8))).toBe('y');
    expect(zoomToRect(layout, at(0.2, 0.5), at(0.8, 0.51))?.y).toEqual([1, 100]);
  });

  test('outside the plot area there is one axis', () => {
    expect(getAxesAt(layout, { x: plotArea.left + 9, y: plotArea.top + plotArea.height + 9 })).toBe(
      'x',
    );
    expect(getAxesAt(layout, { x: plotArea.left - 9, y: plotArea.top + 9 })).toBe('y');
    expect(getAxesAt(layout, at(0.5, 0.5))).toBe('both');
  });

  test('panning to the right shows smaller x values', () => {
    const extent = panBy(layout, plotArea.width / 10, 0);
    expect(extent?.x[0]).toBeCloseTo(-10);
    expect(extent?.x[1]).toBeCloseTo(90);
  });

  test('zooming keeps the position under the pointer', () => {
    const extent = zoomAround(layout, at(0.25, 0.5), 2, 'both');
    expect(extent?.x[0]).toBeCloseTo(12.5);
    expect(extent?.x[1]).toBeCloseTo(62.5);
    expect(Math.sqrt((extent?.y[0] ?? 0) * (extent?.y[1] ?? 0))).toBeCloseTo(10);
  });

  test('zoom is limited by the resolution of doubles', () => {
    expect(zoomAround(layout, at(0.5, 0.5), 1e15, 'both')).toBe(null);
    expect(zoomToRect(layout, at(0.5, 0.2), at(0.5, 0.2))).toEqual(null);
  });
});
