import { formatAxisValue } from '../axes/ticks';
import { findNearestIndex } from './line-hit-test';
import { expandRect, type Rect, makePath, type Renderer } from '../renderer/renderer';
import type { Line, NumberRange, HoverPoint } from '../types';
import {
  alignToPixel,
  CHIP_HEIGHT_PX,
  drawLabelChip,
  LABEL_OFFSET_PX,
} from '../axes/axis-renderer';
import type { PlotLayout } from '../axes/plot-layout';
import { drawLine, getYScale } from './line-renderer';
import type { ChartTheme } from '../renderer/chart-theme';

/** A label at a position in pixels. */
export interface OverlayLabel {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** What is drawn above the lines and follows the pointer. */
export interface LineOverlay {
  /** The hovered x, in this chart or in a linked one. */
  readonly cursor: number | null;
  readonly pinned: number | null;
  readonly range: NumberRange | null;
  readonly hoverPoints: readonly HoverPoint[];
  /** The rectangle being dragged, in pixels. */
  readonly dragRect: Rect | null;
  readonly label: OverlayLabel | null;
  readonly highlighted: readonly Line[];
  /** Whether other lines are dimmed. */
  readonly dimsOthers: boolean;
}

const HIGHLIGHT_WIDTH = 2.5;
const DIM_OPACITY = 0.6;
/** With more lines, only highlighted ones have dots. */
const MAX_DOTS = 30;

export function isOverlayEmpty({
  cursor,
  pinned,
  range,
  dragRect,
  label,
  ...rest
}: LineOverlay): boolean {
  const { highlighted, hoverPoints } = rest;
  if ((range ?? dragRect ?? label) || cursor !== null || pinned !== null) return false;
  return highlighted.length === 0 && hoverPoints.length === 0;
}

export function drawLineOverlay(
  renderer: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  overlay: LineOverlay,
  theme: ChartTheme,
): void {
  const { range, cursor, pinned, dragRect } = overlay;
  renderer.clip(expandRect(layout.plotArea, 2), () => {
    if (range) drawRange(renderer, layout, range, theme);
    drawHighlighted(renderer, layout, overlay, theme);
    if (pinned !== null) drawCrosshair(renderer, layout, pinned, theme.accent);
    if (cursor !== null) drawCrosshair(renderer, layout, cursor, theme.crosshair, [3, 3]);
  });
  const at = cursor ?? pinned;
  if (at !== null) drawDots(renderer, layout, getDottedLines(lines, overlay), at, theme);
  drawHoverPoints(renderer, layout, overlay.hoverPoints, theme);
  for (const place of [...(range ?? []), ...(pinned === null ? [] : [pinned])])
    drawPinnedLabel(renderer, layout, place, theme);
  if (overlay.label) drawHoverLabel(renderer, layout, overlay.label, theme);
  if (dragRect) drawDragRect(renderer, dragRect, theme);
}

/** Draw the label of a pinned x value. */
function drawPinnedLabel(
  renderer: Renderer,
  layout: PlotLayout,
  value: number,
  { background, accent }: ChartTheme,
): void {
  const { plotArea, x, size, format } = layout;
  const at = x.scale.toPixel(value);
  if (at < plotArea.left - 1 || at > plotArea.left + plotArea.width + 1) return;
  const text = formatAxisValue(value, format);
  const top = plotArea.top + plotArea.height + 3;
  drawLabelChip(renderer, { text, x: at, top, color: background, background: accent }, size);
}

function drawHoverLabel(
  renderer: Renderer,
  { plotArea, size }: PlotLayout,
  { text, x, y }: OverlayLabel,
  theme: ChartTheme,
): void {
  const isLow = y > plotArea.top + CHIP_HEIGHT_PX * 2;
  const top = isLow ? y - CHIP_HEIGHT_PX - LABEL_OFFSET_PX : y + LABEL_OFFSET_PX;
  drawLabelChip(renderer, { text, x, top, color: theme.background, background: theme.text }, size);
}

function drawHighlighted(
  renderer: Renderer,
  layout: PlotLayout,
  overlay: LineOverlay,
  { background }: ChartTheme,
): void {
  const { highlighted, dimsOthers } = overlay;
  if (highlighted.length === 0) return;
  // With a margin, as lines extend over the plot area.
  if (dimsOthers)
    renderer.rect(expandRect(layout.plotArea, 2), { color: background, opacity: DIM_OPACITY });
  for (const line of highlighted)
    drawLine(renderer, layout, { ...line, dimmed: false }, HIGHLIGHT_WIDTH);
}

function drawCrosshair(
  renderer: Renderer,
  { x, plotArea }: PlotLayout,
  value: number,
  color: string,
  dash: readonly number[] = [],
): void {
  const at = alignToPixel(x.scale.toPixel(value));
  const path = makePath(at, plotArea.top, at, plotArea.top + plotArea.height);
  renderer.stroke(path, { color, width: 1, dash });
}

function drawRange(
  renderer: Renderer,
  layout: PlotLayout,
  range: NumberRange,
  { accent }: ChartTheme,
): void {
  const { scale } = layout.x;
  const [left, right] = [scale.toPixel(range[0]), scale.toPixel(range[1])];
  const box = { ...layout.plotArea, left: Math.min(left, right), width: Math.abs(right - left) };
  renderer.rect(box, { color: accent, opacity: 0.1 });
  for (const end of range) drawCrosshair(renderer, layout, end, accent);
}

function getDottedLines(lines: readonly Line[], { highlighted }: LineOverlay): readonly Line[] {
  return lines.length <= MAX_DOTS ? lines : highlighted;
}

function drawDots(
  renderer: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  at: number,
  { background }: ChartTheme,
): void {
  // With a margin for dots at the edge.
  renderer.clip(expandRect(layout.plotArea, 4), () => {
    for (const line of lines) {
      const index = findNearestIndex(line, at);
      const y = getYScale(layout, line.axis).toPixel(line.y[index] ?? NaN);
      const x = layout.x.scale.toPixel(line.x[index] ?? NaN);
      if (!Number.isNaN(y)) renderer.dot(x, y, 3, { color: line.color, ring: background });
    }
  });
}

function drawHoverPoints(
  renderer: Renderer,
  { plotArea, x, y }: PlotLayout,
  hoverPoints: readonly HoverPoint[],
  { background }: ChartTheme,
): void {
  renderer.clip(expandRect(plotArea, 5), () => {
    for (const point of hoverPoints)
      renderer.dot(x.scale.toPixel(point.x), y.scale.toPixel(point.y), 4, {
        color: point.color,
        ring: background,
      });
  });
}

function drawDragRect(renderer: Renderer, box: Rect, { accent }: ChartTheme): void {
  renderer.rect(box, { color: accent, opacity: 0.1 });
  const [left, top] = [alignToPixel(box.left), alignToPixel(box.top)];
  const [right, bottom] = [alignToPixel(box.left + box.width), alignToPixel(box.top + box.height)];
  const path = makePath(left, top, right, top, right, bottom, left, bottom, left, top);
  renderer.stroke(path, { color: accent, width: 1 });
}
