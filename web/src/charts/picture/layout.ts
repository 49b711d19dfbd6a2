import { makeScale, type Scale } from '../axis/scale';
import { type Tick, ticksOf } from '../axis/ticks';
import type { Box, Pen } from '../pen/pen';
import type { ScaleKind, Span, XFormat } from '../types';

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface AxisPlan {
  readonly kind: ScaleKind;
  readonly domain: Span;
}

export interface Plan {
  readonly x: AxisPlan & { readonly format: XFormat };
  readonly y: AxisPlan;
  /** Only where a line has the right axis. */
  readonly y2: AxisPlan | null;
}

export interface Axis {
  readonly scale: Scale;
  readonly ticks: readonly Tick[];
}

/** Where everything goes: the box of the lines, and the axes around it. */
export interface Layout {
  readonly size: Size;
  readonly frame: Box;
  readonly format: XFormat;
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

const NONE: Margins = { top: 0, right: 0, bottom: 0, left: 0 };

export const LABEL_SIZE = 10.5;
export const LABEL_GAP = 6;
const TOP = 8;
const BOTTOM = 22;
const RIGHT = 10;
/** Cards beside each other line up as long as their numbers are short. */
const LEFT = 38;
const ROW = 42;
const BETWEEN_LABELS = 28;

type WidthOf = Pen['widthOf'];

export function layOut(plan: Plan, size: Size, widthOf: WidthOf, margins = NONE): Layout {
  const inner = size.height - margins.top - margins.bottom;
  const height = Math.max(1, inner - TOP - BOTTOM);
  const count = rowsIn(inner);
  const yTicks = ticksOf(plan.y.kind, 'number', plan.y.domain, count);
  const y2Ticks = plan.y2 ? ticksOf(plan.y2.kind, 'number', plan.y2.domain, count) : [];
  const left = margins.left + Math.max(LEFT, widest(yTicks, widthOf) + 2 * LABEL_GAP);
  const beside = plan.y2 ? Math.max(LEFT, widest(y2Ticks, widthOf) + 2 * LABEL_GAP) : RIGHT;
  const width = Math.max(1, size.width - left - beside - margins.right);
  const top = margins.top + TOP;
  const across: Span = [left, left + width];
  const up: Span = [top + height, top];
  return {
    size,
    frame: { left, top, width, height },
    format: plan.x.format,
    x: axisOf(plan.x, across, fitTicks(plan.x, width, widthOf)),
    y: axisOf(plan.y, up, yTicks),
    y2: plan.y2 && axisOf(plan.y2, up, y2Ticks),
  };
}

/** How many ticks there is room for on the side of a chart of a height. */
export function rowsIn(height: number): number {
  return Math.max(1, Math.round((height - TOP - BOTTOM) / ROW));
}

function axisOf({ kind, domain }: AxisPlan, range: Span, ticks: readonly Tick[]): Axis {
  return { scale: makeScale(kind, domain, range), ticks };
}

/** As many ticks as there is room for their words. */
function fitTicks({ kind, domain, format }: Plan['x'], width: number, widthOf: WidthOf): Tick[] {
  for (let count = Math.max(1, Math.round(width / 60)); count > 1; count--) {
    const ticks = ticksOf(kind, format, domain, count);
    const needed = ticks.length * (widest(ticks, widthOf) + BETWEEN_LABELS);
    if (needed <= width + BETWEEN_LABELS) return ticks;
  }
  return ticksOf(kind, format, domain, 1);
}

function widest(ticks: readonly Tick[], widthOf: WidthOf): number {
  return Math.max(0, ...ticks.map(({ text }) => widthOf(text, { size: LABEL_SIZE })));
}
