import { makeScale, type Scale } from './scale';
import { type Tick, makeTicks } from './ticks';
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
  /** Only where a line has the right axis. */
  readonly y2: AxisSpec | null;
}

export interface Axis {
  readonly scale: Scale;
  readonly ticks: readonly Tick[];
}

/** Where everything goes: the box of the lines, and the axes around it. */
export interface PlotLayout {
  readonly size: Size;
  readonly plotArea: Rect;
  readonly format: AxisFormat;
  readonly x: Axis;
  readonly y: Axis;
  readonly y2: Axis | null;
}

/** Room around a chart for what is written there. */
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
/** Cards beside each other line up as long as their numbers are short. */
const LEFT = 38;
const TICK_SPACING_PX = 42;
const LABEL_SPACING_PX = 28;

type MeasureText = Renderer['measureText'];

export function layoutPlot(
  plan: AxesSpec,
  size: Size,
  widthOf: MeasureText,
  margins = NO_MARGINS,
): PlotLayout {
  const inner = size.height - margins.top - margins.bottom;
  const height = Math.max(1, inner - TOP - BOTTOM);
  const count = countYTicks(inner);
  const yTicks = makeTicks(plan.y.kind, 'number', plan.y.domain, count);
  const y2Ticks = plan.y2 ? makeTicks(plan.y2.kind, 'number', plan.y2.domain, count) : [];
  const left = margins.left + Math.max(LEFT, findMaxLabelWidth(yTicks, widthOf) + 2 * LABEL_GAP_PX);
  const beside = plan.y2
    ? Math.max(LEFT, findMaxLabelWidth(y2Ticks, widthOf) + 2 * LABEL_GAP_PX)
    : RIGHT;
  const width = Math.max(1, size.width - left - beside - margins.right);
  const top = margins.top + TOP;
  const across: NumberRange = [left, left + width];
  const up: NumberRange = [top + height, top];
  return {
    size,
    plotArea: { left, top, width, height },
    format: plan.x.format,
    x: makeAxis(plan.x, across, fitXTicks(plan.x, width, widthOf)),
    y: makeAxis(plan.y, up, yTicks),
    y2: plan.y2 && makeAxis(plan.y2, up, y2Ticks),
  };
}

/** How many ticks there is room for on the side of a chart of a height. */
export function countYTicks(height: number): number {
  return Math.max(1, Math.round((height - TOP - BOTTOM) / TICK_SPACING_PX));
}

function makeAxis({ kind, domain }: AxisSpec, range: NumberRange, ticks: readonly Tick[]): Axis {
  return { scale: makeScale(kind, domain, range), ticks };
}

/** As many ticks as there is room for their words. */
function fitXTicks(
  { kind, domain, format }: AxesSpec['x'],
  width: number,
  widthOf: MeasureText,
): Tick[] {
  for (let count = Math.max(1, Math.round(width / 60)); count > 1; count--) {
    const ticks = makeTicks(kind, format, domain, count);
    const needed = ticks.length * (findMaxLabelWidth(ticks, widthOf) + LABEL_SPACING_PX);
    if (needed <= width + LABEL_SPACING_PX) return ticks;
  }
  return makeTicks(kind, format, domain, 1);
}

function findMaxLabelWidth(ticks: readonly Tick[], widthOf: MeasureText): number {
  return Math.max(0, ...ticks.map(({ label }) => widthOf(label, { size: LABEL_SIZE_PX })));
}
