import { alignToPixel } from '../../../charts/axes/axis-renderer';
import { makeTicks } from '../../../charts/axes/ticks';
import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import { makePath, type Rect, type Renderer } from '../../../charts/renderer/renderer';
import { formatMs, getPartColor } from '../display';
import type { StepsResponse } from '../schemas';

/** One part of all steps; in milliseconds. */
export interface StepLayer {
  readonly name: string;
  readonly label: string;
  readonly ms: Float64Array;
}

/** The parts from the bottom up, those that nothing is in left out. */
export function makeStepLayers({ parts, other }: StepsResponse): StepLayer[] {
  const layers = parts.map(({ name, label, counted }) => ({ name, label, ms: counted }));
  return [...layers, { name: 'other', label: 'all others', ms: other }].filter(({ ms }) =>
    ms.some((each) => each > 0),
  );
}

/** What stands in one column of the picture: a step, or the longest of several. */
export interface StepColumn {
  /** Which step it shows. */
  readonly step: number;
  readonly left: number;
  readonly width: number;
}

/** Narrower columns could not be told apart. */
const MIN_COLUMN_PX = 3;
/** Wider ones would be walls. */
const MAX_COLUMN_PX = 90;
const COLUMN_GAP_PX = 1;

/** Columns over a width; where steps are more than fit, the longest of its neighbours is shown. */
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

/** Where most steps end: one that waited for the compiler must not make all others flat. */
export function getMaxStepMs(totals: readonly Float64Array[]): number {
  const all = Float64Array.from(totals.flatMap((total) => [...total])).sort();
  const longest = all.at(-1) ?? 0;
  const usual = all[Math.floor(all.length * TYPICAL_QUANTILE)] ?? longest;
  return (longest > OUTLIER_FACTOR * usual ? 1.5 * usual : longest) || 1;
}

/** Of so many steps the longest says how high the picture is. */
const TYPICAL_QUANTILE = 0.9;
const OUTLIER_FACTOR = 4;

const LABEL_SIZE_PX = 10.5;
const TICK_COUNT = 4;

/** The part of the picture that columns are in. */
export function getPlotArea(width: number, height: number): Rect {
  const [left, top, right, foot] = [56, 6, 4, 4];
  return {
    left,
    top,
    width: Math.max(1, width - left - right),
    height: Math.max(1, height - top - foot),
  };
}

export interface StepChartModel {
  readonly frame: Rect;
  readonly columns: readonly StepColumn[];
  readonly layers: readonly StepLayer[];
  /** So many milliseconds reach from the bottom to the top. */
  readonly maxMs: number;
}

export function drawSteps(pen: Renderer, picture: StepChartModel, palette: ChartTheme): void {
  drawAxis(pen, picture, palette);
  for (const column of picture.columns) drawColumn(pen, picture, column);
}

function drawAxis(pen: Renderer, { frame, maxMs }: StepChartModel, palette: ChartTheme): void {
  const style = {
    size: LABEL_SIZE_PX,
    color: palette.label,
    align: 'right',
    baseline: 'middle',
  } as const;
  for (const { value } of makeTicks('linear', 'number', [0, maxMs], TICK_COUNT)) {
    const at = alignToPixel(frame.top + frame.height * (1 - value / maxMs));
    const line = makePath(frame.left, at, frame.left + frame.width, at);
    pen.stroke(line, { color: value === 0 ? palette.axis : palette.grid, width: 1 });
    pen.text(formatMs(value), frame.left - 6, at, style);
  }
}

function drawColumn(
  pen: Renderer,
  { frame, layers, maxMs }: StepChartModel,
  column: StepColumn,
): void {
  const [left, foot] = [frame.left + column.left, frame.top + frame.height];
  let below = 0;
  for (const { name, ms } of layers) {
    const above = Math.min(maxMs, below + (ms[column.step] ?? 0));
    const size = ((above - below) / maxMs) * frame.height;
    const top = foot - (above / maxMs) * frame.height;
    if (size > 0)
      pen.rect({ left, top, width: column.width, height: size }, { color: getPartColor(name) });
    below = above;
  }
}

/** The column under the pointer stands out. */
export function drawHoveredColumn(
  pen: Renderer,
  { frame }: StepChartModel,
  column: StepColumn,
  palette: ChartTheme,
): void {
  const box = {
    left: frame.left + column.left,
    top: frame.top,
    width: column.width,
    height: frame.height,
  };
  pen.rect(box, { color: palette.accent, opacity: 0.16 });
}
