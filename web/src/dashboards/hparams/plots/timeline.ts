/** Trials as bars over time; trials that ran at the same time are in different lanes. */
import type { ChartTheme, Rect, Renderer } from '../../../charts/renderer/renderer';
import { type ColumnAxis, makeAxis } from '../model/column-axes';
import type { TrialColumn } from '../model/trials';
import { toX } from './trial-scatter-plot';

export interface TimelineBar {
  readonly row: number;
  /** Seconds since the first start, as `end`. */
  readonly start: number;
  readonly end: number;
  readonly lane: number;
}

export interface Timeline {
  /** By start. */
  readonly bars: readonly TimelineBar[];
  readonly laneCount: number;
}

/** Place each trial in the first lane that is free when it starts. */
export function makeTimeline(
  rows: Int32Array,
  starts: Float64Array,
  durations: Float64Array,
): Timeline {
  const ordered = rows
    .filter((row) => Number.isFinite(starts[row]))
    .sort((a, b) => (starts[a] ?? 0) - (starts[b] ?? 0) || a - b);
  const laneEnds: number[] = [];
  const first = starts[ordered[0] ?? 0] ?? 0;
  const bars = Array.from(ordered, (row): TimelineBar => {
    const start = (starts[row] ?? 0) - first;
    const duration = durations[row] ?? NaN;
    const end = duration > 0 ? start + duration : start;
    const free = laneEnds.findIndex((laneEnd) => laneEnd <= start);
    const lane = free < 0 ? laneEnds.length : free;
    laneEnds[lane] = end;
    return { row, start, end, lane };
  });
  return { bars, laneCount: laneEnds.length };
}

/** Return the axis of the time since the first start. */
export function makeTimeAxis(column: TrialColumn, { bars }: Timeline): ColumnAxis {
  const last = bars.reduce((latest, { end }) => Math.max(latest, end), 0);
  const values = Float64Array.of(0, Math.max(last, 1e-3));
  const times = { ...column, format: 'duration', values, missingMask: null, varies: true } as const;
  return makeAxis(times, 'linear');
}

const MAX_LANE_HEIGHT_PX = 36;
const MIN_BAR_WIDTH_PX = 3;

/** Return the rectangle of a bar. */
export function getBarRect(
  area: Rect,
  axis: ColumnAxis,
  laneCount: number,
  { start, end, lane }: TimelineBar,
): Rect {
  const laneHeight = Math.min(MAX_LANE_HEIGHT_PX, area.height / Math.max(1, laneCount));
  const gap = Math.min(3, laneHeight / 4);
  const left = toX(area, axis.toPosition(start));
  const width = Math.max(MIN_BAR_WIDTH_PX, toX(area, axis.toPosition(end)) - left - 1);
  return { left, top: area.top + lane * laneHeight + gap / 2, width, height: laneHeight - gap };
}

/** Return the bar at a pixel; of several, the last one, which is on top. */
export function findBar(
  area: Rect,
  axis: ColumnAxis,
  { bars, laneCount }: Timeline,
  x: number,
  y: number,
): TimelineBar | null {
  const toTime = (pixel: number): number => axis.toValue((pixel - area.left) / area.width);
  // Most bars are left or right of the pointer; the rectangles of 50,000 take long.
  const [from, to] = [toTime(x - MIN_BAR_WIDTH_PX - 2), toTime(x + 2)];
  for (let index = bars.length - 1; index >= 0; index--) {
    const bar = bars[index];
    if (!bar || bar.start > to || bar.end < from) continue;
    const { left, top, width, height } = getBarRect(area, axis, laneCount, bar);
    if (x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1) return bar;
  }
  return null;
}

export function drawTimeline(
  renderer: Renderer,
  area: Rect,
  axis: ColumnAxis,
  { bars, laneCount }: Timeline,
  colorOf: (row: number) => string,
): void {
  for (const bar of bars)
    renderer.rect(getBarRect(area, axis, laneCount, bar), { color: colorOf(bar.row), radius: 2 });
}

/** Draw the outline of the bar under the pointer. */
export function drawHighlightedBar(
  renderer: Renderer,
  { left, top, width, height }: Rect,
  theme: ChartTheme,
): void {
  const [right, bottom] = [left + width, top + height];
  const points = Float32Array.of(left, top, right, top, right, bottom, left, bottom, left, top);
  renderer.stroke({ points, length: points.length }, { color: theme.text, width: 2 });
}
