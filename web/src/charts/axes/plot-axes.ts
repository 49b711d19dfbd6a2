import {
  type ChartTheme,
  makePath,
  type Rect,
  type Renderer,
  type TextStyle,
} from '../renderer/renderer';
import type { AxisFormat, NumberRange, ScaleType } from '../types';
import { makeScale, makeTicks, type Scale, type Tick } from './ticks';

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

/** Draw grid lines and tick labels. */
export function drawAxes(renderer: Renderer, layout: PlotLayout, theme: ChartTheme): void {
  drawGrid(renderer, layout, theme);
  drawYLabels(renderer, layout, theme);
  drawXLabels(renderer, layout, theme);
}

function drawGrid(
  renderer: Renderer,
  { plotArea, y }: PlotLayout,
  { grid, axis }: ChartTheme,
): void {
  const right = plotArea.left + plotArea.width;
  const bottom = plotArea.top + plotArea.height;
  for (const { value } of y.ticks) {
    const at = alignToPixel(y.scale.toPixel(value));
    renderer.stroke(makePath(plotArea.left, at, right, at), { color: grid, width: 1 });
  }
  const at = alignToPixel(bottom);
  renderer.stroke(makePath(plotArea.left, at, right, at), { color: axis, width: 1 });
}

/** Return the nearest pixel center: 1 px lines there are sharp. */
export function alignToPixel(pixel: number): number {
  return Math.round(pixel - 0.5) + 0.5;
}

function drawYLabels(
  renderer: Renderer,
  { plotArea, y, y2 }: PlotLayout,
  { label }: ChartTheme,
): void {
  const style = { color: label, size: LABEL_SIZE_PX, baseline: 'middle' } as const;
  for (const { value, label: text } of y.ticks)
    renderer.text(text, plotArea.left - LABEL_GAP_PX, y.scale.toPixel(value), {
      ...style,
      align: 'right',
    });
  const right = plotArea.left + plotArea.width + LABEL_GAP_PX;
  for (const { value, label: text } of y2?.ticks ?? [])
    renderer.text(text, right, y2?.scale.toPixel(value) ?? 0, { ...style, align: 'left' });
}

/** Draw x labels; those at the ends are moved inside the chart. */
function drawXLabels(
  renderer: Renderer,
  { plotArea, x, size }: PlotLayout,
  theme: ChartTheme,
): void {
  const style: TextStyle = {
    color: theme.label,
    size: LABEL_SIZE_PX,
    align: 'center',
    baseline: 'top',
  };
  const top = plotArea.top + plotArea.height + LABEL_GAP_PX;
  for (const { value, label } of x.ticks) {
    const half = renderer.measureText(label, style) / 2 + 2;
    const at = Math.min(size.width - half, Math.max(half, x.scale.toPixel(value)));
    renderer.text(label, at, top, style);
  }
}

/** A short text on a colored background. */
export interface LabelChip {
  readonly text: string;
  /** Center of the upper edge. */
  readonly x: number;
  readonly top: number;
  readonly color: string;
  readonly background: string;
}

export const CHIP_HEIGHT_PX = 15;
/** Distance of a label from the marker that it belongs to. */
export const LABEL_OFFSET_PX = 7;
export const CHIP_PADDING_PX = 4;

/** Draw a chip, moved inside the chart if necessary. */
export function drawLabelChip(
  renderer: Renderer,
  { text, x, top, color, background }: LabelChip,
  { width: maxWidth }: Size,
): void {
  const width = measureLabelChip(renderer, text);
  const left = Math.max(0, Math.min(maxWidth - width, x - width / 2));
  renderer.rect({ left, top, width, height: CHIP_HEIGHT_PX }, { color: background, radius: 3 });
  const style = { color, size: LABEL_SIZE_PX, align: 'left', baseline: 'middle' } as const;
  renderer.text(text, left + CHIP_PADDING_PX, top + CHIP_HEIGHT_PX / 2, style);
}

export function measureLabelChip(renderer: Pick<Renderer, 'measureText'>, text: string): number {
  return renderer.measureText(text, { size: LABEL_SIZE_PX }) + 2 * CHIP_PADDING_PX;
}

/** Truncate text to fit on a chip of a given width. */
export function truncateToWidth(
  renderer: Pick<Renderer, 'measureText'>,
  text: string,
  maxWidth: number,
): string {
  if (measureLabelChip(renderer, text) <= maxWidth) return text;
  let length = text.length;
  while (length > 1 && measureLabelChip(renderer, `${text.slice(0, length)}…`) > maxWidth) length--;
  return `${text.slice(0, length).trimEnd()}…`;
}
