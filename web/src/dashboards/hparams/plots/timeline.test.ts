import { expect, test } from 'vitest';

import type { TrialColumn } from '../model/trials';
import { findBar, getBarRect, makeTimeAxis, makeTimeline } from './timeline';

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
