import type { ChartTheme } from '../renderer/chart-theme';
import { makePath, type Renderer, type TextStyle } from '../renderer/renderer';
import { LABEL_GAP_PX, LABEL_SIZE_PX, type PlotLayout, type Size } from './plot-layout';

/** The grid, and what numbers mean where. */
export function drawAxes(pen: Renderer, layout: PlotLayout, palette: ChartTheme): void {
  drawGrid(pen, layout, palette);
  drawYLabels(pen, layout, palette);
  drawXLabels(pen, layout, palette);
}

function drawGrid(pen: Renderer, { plotArea, y }: PlotLayout, { grid, axis }: ChartTheme): void {
  const right = plotArea.left + plotArea.width;
  const foot = plotArea.top + plotArea.height;
  for (const { value } of y.ticks) {
    const at = alignToPixel(y.scale.toPixel(value));
    pen.stroke(makePath(plotArea.left, at, right, at), { color: grid, width: 1 });
  }
  const at = alignToPixel(foot);
  pen.stroke(makePath(plotArea.left, at, right, at), { color: axis, width: 1 });
}

/** In the middle of a row of pixels a thin line is sharp. */
export function alignToPixel(pixel: number): number {
  return Math.round(pixel - 0.5) + 0.5;
}

function drawYLabels(pen: Renderer, { plotArea, y, y2 }: PlotLayout, { label }: ChartTheme): void {
  const style = { color: label, size: LABEL_SIZE_PX, baseline: 'middle' } as const;
  for (const { value, label: text } of y.ticks)
    pen.text(text, plotArea.left - LABEL_GAP_PX, y.scale.toPixel(value), {
      ...style,
      align: 'right',
    });
  const right = plotArea.left + plotArea.width + LABEL_GAP_PX;
  for (const { value, label: text } of y2?.ticks ?? [])
    pen.text(text, right, y2?.scale.toPixel(value) ?? 0, { ...style, align: 'left' });
}

/** Words at the ends are moved in, so that none is cut off. */
function drawXLabels(pen: Renderer, { plotArea, x, size }: PlotLayout, palette: ChartTheme): void {
  const style: TextStyle = {
    color: palette.label,
    size: LABEL_SIZE_PX,
    align: 'center',
    baseline: 'top',
  };
  const top = plotArea.top + plotArea.height + LABEL_GAP_PX;
  for (const { value, label } of x.ticks) {
    const half = pen.measureText(label, style) / 2 + 2;
    const at = Math.min(size.width - half, Math.max(half, x.scale.toPixel(value)));
    pen.text(label, at, top, style);
  }
}

/** Words on a small coloured plate. */
export interface LabelChip {
  readonly text: string;
  /** The middle of its upper edge. */
  readonly x: number;
  readonly top: number;
  readonly color: string;
  readonly background: string;
}

export const CHIP_HEIGHT_PX = 15;
export const CHIP_PADDING_PX = 4;

/** Draws a chip, moved as far as it takes to be within a chart. */
export function drawLabelChip(
  pen: Renderer,
  { text, x, top, color, background }: LabelChip,
  { width: room }: Size,
): void {
  const width = measureLabelChip(pen, text);
  const left = Math.max(0, Math.min(room - width, x - width / 2));
  pen.rect({ left, top, width, height: CHIP_HEIGHT_PX }, { color: background, radius: 3 });
  const style = { color, size: LABEL_SIZE_PX, align: 'left', baseline: 'middle' } as const;
  pen.text(text, left + CHIP_PADDING_PX, top + CHIP_HEIGHT_PX / 2, style);
}

export function measureLabelChip(pen: Pick<Renderer, 'measureText'>, text: string): number {
  return pen.measureText(text, { size: LABEL_SIZE_PX }) + 2 * CHIP_PADDING_PX;
}

/** Text that fits on a chip of a width, with dots where it was cut. */
export function truncateToWidth(
  pen: Pick<Renderer, 'measureText'>,
  text: string,
  room: number,
): string {
  if (measureLabelChip(pen, text) <= room) return text;
  let length = text.length;
  while (length > 1 && measureLabelChip(pen, `${text.slice(0, length)}…`) > room) length--;
  return `${text.slice(0, length).trimEnd()}…`;
}
