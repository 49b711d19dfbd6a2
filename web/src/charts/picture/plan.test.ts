import { expect, test } from 'vitest';

import type { Line } from '../types';
import { planAxes, type Settings } from './plan';

const FREE = { low: null, high: null };
const settings: Settings = {
  xFormat: 'step',
  xScale: 'linear',
  yScale: 'linear',
  y2Scale: 'linear',
  xLimits: FREE,
  yLimits: FREE,
  y2Limits: FREE,
  ignoreOutliers: false,
  rows: 5,
};

function line(axis: 0 | 1, ...y: number[]): Line {
  const x = Float64Array.from(y, (_, at) => at);
  return { id: `${axis}`, label: '', colour: '', dash: [], axis, x, y: Float64Array.from(y) };
}

test('nobody zoomed: limits first, then the data', () => {
  const content = { lines: [line(0, 0, 5, 10)], bands: [] };
  const plan = planAxes(content, { ...settings, yLimits: { low: null, high: 20 } }, null);
  expect(plan.x.domain).toEqual([0, 2]);
  expect(plan.y.domain).toEqual([0, 20]);
  expect(plan.y2).toBe(null);
});

test('what somebody zoomed to goes before limits and data', () => {
  const zoom = { x: [1, 2], y: [3, 4] } as const;
  const limits = { low: 0, high: 20 };
  const content = { lines: [line(0, 0, 5, 10)], bands: [] };
  const plan = planAxes(content, { ...settings, yLimits: limits }, zoom);
  expect(plan.x.domain).toEqual([1, 2]);
  expect(plan.y.domain).toEqual([3, 4]);
});

test('a zoom that a log scale cannot show is left', () => {
  const zoom = { x: [0, 2], y: [-1, 4] } as const;
  const content = { lines: [line(0, 1, 5, 10)], bands: [] };
  const plan = planAxes(content, { ...settings, yScale: 'log' }, zoom);
  expect(plan.x.domain).toEqual([0, 2]);
  expect(plan.y.domain[0]).toBeGreaterThan(0.9);
});

test('the right axis is there when a line needs it, and fits what is seen of it', () => {
  const content = { lines: [line(0, 0, 1), line(1, 10, 20, 30, 900)], bands: [] };
  const zoom = { x: [0, 2], y: [0, 1] } as const;
  expect(planAxes(content, settings, zoom).y2?.domain).toEqual([10, 30]);
});
