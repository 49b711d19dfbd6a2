import * as m from '../../../catalog/profile';
import { alignToPixel } from '../../../charts/axes/plot-axes';
import { makeTicks } from '../../../charts/axes/ticks';
import {
  type ChartTheme,
  makePath,
  type Rect,
  type Renderer,
} from '../../../charts/renderer/renderer';
import { formatMs, getPartColor } from '../display';
import type { ProfileStepsResponse } from '../../../api/schemas';
import { translate } from '../../../i18n/messages';

/** The time of every step in one part. */
export interface StepLayer {
  readonly name: string;
  readonly label: string;
  readonly ms: Float64Array;
}

/** Return the parts with any time, from the bottom up. */
export function makeStepLayers({ parts, other_ms }: ProfileStepsResponse): StepLayer[] {
  const layers = parts.map(({ name, label, exclusive_ms }) => ({
    name,
    label: translate(label),
    ms: exclusive_ms,
  }));
  return [...layers, { name: 'other', label: m.partOther, ms: other_ms }].filter(({ ms }) =>
    ms.some((each) => each > 0),
  );
}

/** A column of the chart: a step, or the longest of several. */
export interface StepColumn {
  readonly step: number;
  readonly left: number;
  readonly width: number;
}

const MIN_COLUMN_PX = 3;
const MAX_COLUMN_PX = 90;
const COLUMN_GAP_PX = 1;

/** Divide a width into columns; each shows the longest of its steps if there are too many. */
export function layoutStepColumns(total: Float64Array, width: number): StepColumn[] {
  const count = Math.min(total.length, Math.max(1, Math.floor(width / MIN_COLUMN_PX)));
  const each = Math.min(MAX_COLUMN_PX, width / count);
  return Array.from({ length: count }, (_, at) => ({
    step: findLongestStep(total, (at * total.length) / count, ((at + 1) * total.length) / count),
    left: at * each,
    width: Math.max(1, each - (each > 2 * MIN_COLUMN_PX ? COLUMN_GAP_PX : 0)),
  }));
}

function findLongestStep(total: Float64Array, from: number, to: number): number {
  let longest = Math.floor(from);
  for (let step = longest + 1; step < Math.floor(to); step++)
    if ((total[step] ?? 0) > (total[longest] ?? 0)) longest = step;
  return longest;
}

const TYPICAL_QUANTILE = 0.9;
const OUTLIER_FACTOR = 4;

/** Return the upper end of the axis. A few steps with compilation do not flatten all others. */
export function getMaxStepMs(totals: readonly Float64Array[]): number {
  const all = Float64Array.from(totals.flatMap((total) => [...total])).sort();
  const longest = all.at(-1) ?? 0;
  const typical = all[Math.floor(all.length * TYPICAL_QUANTILE)] ?? longest;
  return (longest > OUTLIER_FACTOR * typical ? 1.5 * typical : longest) || 1;
}

const LABEL_SIZE_PX = 10.5;
const TICK_COUNT = 4;

export function getPlotArea(width: number, height: number): Rect {
  const [left, top, right, bottom] = [56, 6, 4, 4];
  return {
    left,
    top,
    width: Math.max(1, width - left - right),
    height: Math.max(1, height - top - bottom),
  };
}

export interface StepChartModel {
  readonly frame: Rect;
  readonly columns: readonly StepColumn[];
  readonly layers: readonly StepLayer[];
  readonly maxMs: number;
}

export function drawSteps(pen: Renderer, model: StepChartModel, theme: ChartTheme): void {
  drawAxis(pen, model, theme);
  for (const column of model.columns) drawColumn(pen, model, column);
}

function drawAxis(pen: Renderer, { frame, maxMs }: StepChartModel, theme: ChartTheme): void {
  const style = {
    size: LABEL_SIZE_PX,
    color: theme.label,
    align: 'right',
    baseline: 'middle',
  } as const;
  for (const { value } of makeTicks('linear', 'number', [0, maxMs], TICK_COUNT)) {
    const y = alignToPixel(frame.top + frame.height * (1 - value / maxMs));
    const line = makePath(frame.left, y, frame.left + frame.width, y);
    pen.stroke(line, { color: value === 0 ? theme.axis : theme.grid, width: 1 });
    pen.text(formatMs(value), frame.left - 6, y, style);
  }
}

function drawColumn(
  pen: Renderer,
  { frame, layers, maxMs }: StepChartModel,
  column: StepColumn,
): void {
  const [left, bottom] = [frame.left + column.left, frame.top + frame.height];
  let below = 0;
  for (const { name, ms } of layers) {
    const above = Math.min(maxMs, below + (ms[column.step] ?? 0));
    const size = ((above - below) / maxMs) * frame.height;
    const top = bottom - (above / maxMs) * frame.height;
    if (size > 0)
      pen.rect({ left, top, width: column.width, height: size }, { color: getPartColor(name) });
    below = above;
  }
}

export function drawHoveredColumn(
  pen: Renderer,
  { frame }: StepChartModel,
  column: StepColumn,
  theme: ChartTheme,
): void {
  const box = {
    left: frame.left + column.left,
    top: frame.top,
    width: column.width,
    height: frame.height,
  };
  pen.rect(box, { color: theme.accent, opacity: 0.16 });
}
