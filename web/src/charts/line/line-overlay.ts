import { formatAxisValue } from '../axes/ticks';
import { findNearestIndex } from './line-hit-test';
import { expandRect, type Rect, makePath, type Renderer } from '../renderer/renderer';
import type { Line, NumberRange, HoverPoint } from '../types';
import { alignToPixel, CHIP_HEIGHT_PX, drawLabelChip } from '../axes/axis-renderer';
import type { PlotLayout } from '../axes/plot-layout';
import { drawLine, getYScale } from './curve-renderer';
import type { ChartTheme } from '../renderer/chart-theme';

/** What the thing under the pointer says, and where that is. */
export interface OverlayLabel {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** What lies above the lines and changes with every move of a pointer. */
export interface LineOverlay {
  /** The x that is looked at, in this chart or another. */
  readonly cursor: number | null;
  readonly pinned: number | null;
  readonly range: NumberRange | null;
  readonly hoverPoints: readonly HoverPoint[];
  /** What is being dragged, in pixels. */
  readonly dragRect: Rect | null;
  readonly label: OverlayLabel | null;
  /** Lines that stand out. */
  readonly highlighted: readonly Line[];
  /** Whether the other lines step back behind those. */
  readonly dimsOthers: boolean;
}

const LABEL_OFFSET_PX = 7;
const HIGHLIGHT_WIDTH = 2.5;
const DIM_OPACITY = 0.6;
/** More dots than this hide what they are on. */
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
  pen: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  overlay: LineOverlay,
  palette: ChartTheme,
): void {
  const { range, cursor, pinned, dragRect } = overlay;
  pen.clip(expandRect(layout.plotArea, 2), () => {
    if (range) drawRange(pen, layout, range, palette);
    drawHighlighted(pen, layout, overlay, palette);
    if (pinned !== null) drawCrosshair(pen, layout, pinned, palette.accent);
    if (cursor !== null) drawCrosshair(pen, layout, cursor, palette.crosshair, [3, 3]);
  });
  const at = cursor ?? pinned;
  if (at !== null) drawDots(pen, layout, getDottedLines(lines, overlay), at, palette);
  drawHoverPoints(pen, layout, overlay.hoverPoints, palette);
  for (const place of [...(range ?? []), ...(pinned === null ? [] : [pinned])])
    drawPinnedLabel(pen, layout, place, palette);
  if (overlay.label) drawHoverLabel(pen, layout, overlay.label, palette);
  if (dragRect) drawDragRect(pen, dragRect, palette);
}

/** Where on the horizontal axis something was pinned. */
function drawPinnedLabel(
  pen: Renderer,
  layout: PlotLayout,
  value: number,
  { background, accent }: ChartTheme,
): void {
  const { plotArea, x, size, format } = layout;
  const at = x.scale.toPixel(value);
  if (at < plotArea.left - 1 || at > plotArea.left + plotArea.width + 1) return;
  const text = formatAxisValue(value, format);
  const top = plotArea.top + plotArea.height + 3;
  drawLabelChip(pen, { text, x: at, top, color: background, background: accent }, size);
}

function drawHoverLabel(
  pen: Renderer,
  { plotArea, size }: PlotLayout,
  { text, x, y }: OverlayLabel,
  palette: ChartTheme,
): void {
  const isLow = y > plotArea.top + CHIP_HEIGHT_PX * 2;
  const top = isLow ? y - CHIP_HEIGHT_PX - LABEL_OFFSET_PX : y + LABEL_OFFSET_PX;
  drawLabelChip(pen, { text, x, top, color: palette.background, background: palette.text }, size);
}

function drawHighlighted(
  pen: Renderer,
  layout: PlotLayout,
  overlay: LineOverlay,
  { background }: ChartTheme,
): void {
  const { highlighted, dimsOthers } = overlay;
  if (highlighted.length === 0) return;
  // A little wider than the frame, as lines are.
  if (dimsOthers)
    pen.rect(expandRect(layout.plotArea, 2), { color: background, opacity: DIM_OPACITY });
  for (const line of highlighted)
    drawLine(pen, layout, { ...line, dimmed: false }, HIGHLIGHT_WIDTH);
}

function drawCrosshair(
  pen: Renderer,
  { x, plotArea }: PlotLayout,
  value: number,
  color: string,
  dash: readonly number[] = [],
): void {
  const at = alignToPixel(x.scale.toPixel(value));
  const path = makePath(at, plotArea.top, at, plotArea.top + plotArea.height);
  pen.stroke(path, { color, width: 1, dash });
}

function drawRange(
  pen: Renderer,
  layout: PlotLayout,
  range: NumberRange,
  { accent }: ChartTheme,
): void {
  const { scale } = layout.x;
  const [left, right] = [scale.toPixel(range[0]), scale.toPixel(range[1])];
  const box = { ...layout.plotArea, left: Math.min(left, right), width: Math.abs(right - left) };
  pen.rect(box, { color: accent, opacity: 0.1 });
  for (const end of range) drawCrosshair(pen, layout, end, accent);
}

function getDottedLines(lines: readonly Line[], { highlighted }: LineOverlay): readonly Line[] {
  return lines.length <= MAX_DOTS ? lines : highlighted;
}

function drawDots(
  pen: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  at: number,
  { background }: ChartTheme,
): void {
  // Half a dot on the edge has room.
  pen.clip(expandRect(layout.plotArea, 4), () => {
    for (const line of lines) {
      const index = findNearestIndex(line, at);
      const y = getYScale(layout, line.axis).toPixel(line.y[index] ?? NaN);
      const x = layout.x.scale.toPixel(line.x[index] ?? NaN);
      if (!Number.isNaN(y)) pen.dot(x, y, 3, { color: line.color, ring: background });
    }
  });
}

function drawHoverPoints(
  pen: Renderer,
  { plotArea, x, y }: PlotLayout,
  spots: readonly HoverPoint[],
  { background }: ChartTheme,
): void {
  pen.clip(expandRect(plotArea, 5), () => {
    for (const spot of spots)
      pen.dot(x.scale.toPixel(spot.x), y.scale.toPixel(spot.y), 4, {
        color: spot.color,
        ring: background,
      });
  });
}

function drawDragRect(pen: Renderer, box: Rect, { accent }: ChartTheme): void {
  pen.rect(box, { color: accent, opacity: 0.1 });
  const [left, top] = [alignToPixel(box.left), alignToPixel(box.top)];
  const [right, foot] = [alignToPixel(box.left + box.width), alignToPixel(box.top + box.height)];
  const path = makePath(left, top, right, top, right, foot, left, foot, left, top);
  pen.stroke(path, { color: accent, width: 1 });
}
