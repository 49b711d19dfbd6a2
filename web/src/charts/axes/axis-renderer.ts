import type { ChartTheme } from '../renderer/chart-theme';
import { makePath, type Renderer, type TextStyle } from '../renderer/renderer';
import { LABEL_GAP_PX, LABEL_SIZE_PX, type PlotLayout, type Size } from './plot-layout';

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
