import { makeScale, makeTicks, type Scale, type Tick } from './ticks';
import type { Rect, Renderer } from '../renderer/renderer';
import type { ScaleType, NumberRange, AxisFormat } from '../types';

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface AxisSpec {
  readonly kind: ScaleType;
  readonly domain: NumberRange;
}

export interface AxesSpec {
  readonly x: AxisSpec & { readonly format: AxisFormat };
  readonly y: AxisSpec;
  /** Set if a line uses the right axis. */
  readonly y2: AxisSpec | null;
}

export interface Axis {
  readonly scale: Scale;
  readonly ticks: readonly Tick[];
}

/** The layout of a chart: the plot area and its axes. */
export interface PlotLayout {
  readonly size: Size;
  readonly plotArea: Rect;
  readonly format: AxisFormat;
  readonly x: Axis;
  readonly y: Axis;
  readonly y2: Axis | null;
}

/** Space around a chart for titles. */
export interface Margins {
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly left: number;
}

const NO_MARGINS: Margins = { top: 0, right: 0, bottom: 0, left: 0 };

export const LABEL_SIZE_PX = 10.5;
export const LABEL_GAP_PX = 6;
const TOP = 8;
const BOTTOM = 22;
const RIGHT = 10;
/** Minimum width of the y labels, so that neighboring charts are aligned. */
const LEFT = 38;
const TICK_SPACING_PX = 42;
const LABEL_SPACING_PX = 28;

type MeasureText = Renderer['measureText'];

export function layoutPlot(
  axes: AxesSpec,
  size: Size,
  measure: MeasureText,
  margins = NO_MARGINS,
): PlotLayout {
  const inner = size.height - margins.top - margins.bottom;
  const height = Math.max(1, inner - TOP - BOTTOM);
  const count = countYTicks(inner);
  const yTicks = makeTicks(axes.y.kind, 'number', axes.y.domain, count);
  const y2Ticks = axes.y2 ? makeTicks(axes.y2.kind, 'number', axes.y2.domain, count) : [];
  const left = margins.left + Math.max(LEFT, findMaxLabelWidth(yTicks, measure) + 2 * LABEL_GAP_PX);
  const beside = axes.y2
    ? Math.max(LEFT, findMaxLabelWidth(y2Ticks, measure) + 2 * LABEL_GAP_PX)
    : RIGHT;
  const width = Math.max(1, size.width - left - beside - margins.right);
  const top = margins.top + TOP;
  const across: NumberRange = [left, left + width];
  const up: NumberRange = [top + height, top];
  return {
    size,
    plotArea: { left, top, width, height },
    format: axes.x.format,
    x: makeAxis(axes.x, across, fitXTicks(axes.x, width, measure)),
    y: makeAxis(axes.y, up, yTicks),
    y2: axes.y2 && makeAxis(axes.y2, up, y2Ticks),
  };
}

/** Return the number of y ticks that fit into a chart. */
export function countYTicks(height: number): number {
  return Math.max(1, Math.round((height - TOP - BOTTOM) / TICK_SPACING_PX));
}

function makeAxis({ kind, domain }: AxisSpec, range: NumberRange, ticks: readonly Tick[]): Axis {
  return { scale: makeScale(kind, domain, range), ticks };
}

/** Return as many ticks as their labels allow. */
function fitXTicks(
  { kind, domain, format }: AxesSpec['x'],
  width: number,
  measure: MeasureText,
): Tick[] {
  for (let count = Math.max(1, Math.round(width / 60)); count > 1; count--) {
    const ticks = makeTicks(kind, format, domain, count);
    const needed = ticks.length * (findMaxLabelWidth(ticks, measure) + LABEL_SPACING_PX);
    if (needed <= width + LABEL_SPACING_PX) return ticks;
  }
  return makeTicks(kind, format, domain, 1);
}

function findMaxLabelWidth(ticks: readonly Tick[], measure: MeasureText): number {
  return Math.max(0, ...ticks.map(({ label }) => measure(label, { size: LABEL_SIZE_PX })));
}
