/**
 * Hit testing of lines, and what is drawn over them: crosshair, points under the pointer, and labels at the
 * right end. Lines are searched with binary search, so that hundreds of them are fast.
 */
import { bisectLeft } from '../axes/domain';
import {
  alignToPixel,
  CHIP_HEIGHT_PX,
  drawLabelChip,
  LABEL_OFFSET_PX,
  LABEL_SIZE_PX,
  type PlotLayout,
  truncateToWidth,
} from '../axes/plot-axes';
import { formatAxisValue } from '../axes/ticks';
import {
  type ChartTheme,
  expandRect,
  makePath,
  type Point,
  type Rect,
  type Renderer,
} from '../renderer/renderer';
import type { Band, HoverPoint, Line, NumberArray, NumberRange } from '../types';
import { drawLine, findVisibleRange, getYScale, type PlacedLabel } from './line-renderer';

interface LineValue {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  /** Value before smoothing; null if unknown. */
  readonly raw: number | null;
}

/** A line or a band. */
export type HasX = Pick<Line, 'x' | 'scatter'>;

/** Return the point of each line that is nearest to `x`. */
export function getValuesAt(lines: readonly Line[], x: number): LineValue[] {
  const values: LineValue[] = [];
  for (const line of lines) {
    const at = findNearestIndex(line, x);
    if (at < 0) continue;
    const raw = line.raw?.[at] ?? null;
    values.push({ id: line.id, x: line.x[at] ?? NaN, y: line.y[at] ?? NaN, raw });
  }
  return values;
}

/** Return the index of the point nearest to `x`; -1 for a line without points. */
function findNearestIndex({ x: column, scatter }: Line, x: number): number {
  if (scatter) return findNearestUnsorted(column, x);
  const after = bisectLeft(column, x);
  if (after === 0) return column.length ? 0 : -1;
  if (after === column.length) return after - 1;
  return x - (column[after - 1] ?? NaN) <= (column[after] ?? NaN) - x ? after - 1 : after;
}

function findNearestUnsorted(column: NumberArray, x: number): number {
  let best = -1;
  let least = Infinity;
  for (let at = 0; at < column.length; at++) {
    const distance = Math.abs((column[at] ?? NaN) - x);
    if (distance < least) [best, least] = [at, distance];
  }
  return best;
}

/** Return the id of the line nearest to a point, if one is within reach. */
export function findNearestLine(
  lines: readonly Line[],
  layout: PlotLayout,
  at: Point,
  reach = 32,
): string | null {
  const x = layout.x.scale.toValue(at.x);
  let best: string | null = null;
  let least = reach * reach;
  for (const line of lines) {
    const near = line.scatter ? 0 : findNearestIndex(line, x);
    const distance = near < 0 ? Infinity : distanceTo(line, near, layout, at);
    if (distance < least) [best, least] = [line.id, distance];
  }
  return best;
}

/**
 * Return the squared distance to a line in pixels. With sorted x, only the segments next to the
 * nearest point are checked.
 */
function distanceTo(line: Line, near: number, layout: PlotLayout, at: Point): number {
  const ys = getYScale(layout, line.axis);
  const across = (index: number): number => layout.x.scale.toPixel(line.x[index] ?? NaN) - at.x;
  const up = (index: number): number => ys.toPixel(line.y[index] ?? NaN) - at.y;
  const [first, last] = line.scatter ? [0, line.x.length - 1] : [near - 1, near + 1];
  let least = Infinity;
  let [x, y] = [across(first), up(first)];
  for (let index = first; index <= last; index++) {
    const [x1, y1] = [across(index), up(index)];
    // A point between two gaps has no segment.
    for (const distance of [x1 * x1 + y1 * y1, distanceToSegment(x, y, x1, y1)])
      if (distance < least) least = distance;
    [x, y] = [x1, y1];
  }
  return least;
}

/** Return the squared distance of the origin to a segment; NaN if an end is a gap. */
function distanceToSegment(x0: number, y0: number, x1: number, y1: number): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const part = length === 0 ? 0 : Math.max(0, Math.min(1, -(x0 * dx + y0 * dy) / length));
  return (x0 + part * dx) ** 2 + (y0 + part * dy) ** 2;
}

/** Return the next x of a point, at least `step` away; null after the last. */
export function findNextX(lines: readonly HasX[], x: number, step: number): number | null {
  let best: number | null = null;
  for (const { x: column, scatter } of lines) {
    const found = scatter ? undefined : findNeighbor(column, x + step, step > 0);
    if (found === undefined) continue;
    if (best === null || (step > 0 ? found < best : found > best)) best = found;
  }
  return best;
}

function findNeighbor(column: NumberArray, x: number, rising: boolean): number | undefined {
  const at = bisectLeft(column, x);
  if (rising || column[at] === x) return column[at];
  return column[at - 1];
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
  readonly label: PlacedLabel | null;
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
  { text, x, y }: PlacedLabel,
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

/** The text of the label of each line, by its id. */
export type EndLabels = ReadonlyMap<string, string>;

const GAP_PX = 6;
const MAX_WIDTH_PX = 150;
const LINE_HEIGHT_PX = 13;

/** Return the space that labels need to the right of the plot area. */
export function measureEndLabels(labels: EndLabels, measure: Renderer['measureText']): number {
  const widths = Array.from(labels.values(), (text) => measure(text, { size: LABEL_SIZE_PX }));
  return labels.size === 0 ? 0 : Math.min(MAX_WIDTH_PX, Math.max(...widths)) + GAP_PX;
}

export function drawEndLabels(
  renderer: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  bands: readonly Band[],
  labels: EndLabels,
): void {
  const { left, top, width, height } = layout.plotArea;
  const centers = bands.map((band) => ({ ...band, y: band.center }));
  const ends = [...centers, ...lines].flatMap((line) => {
    const text = labels.get(line.id);
    const y = text === undefined ? null : findEnd(line, layout);
    return text === undefined || y === null ? [] : [{ text, color: line.color, y }];
  });
  const placed = spreadPositions(
    ends.map(({ y }) => y),
    LINE_HEIGHT_PX,
    [top, top + height],
  );
  for (const [index, { text, color }] of ends.entries())
    renderer.text(
      truncateToWidth(renderer, text, MAX_WIDTH_PX),
      left + width + GAP_PX,
      placed[index] ?? 0,
      { color, size: LABEL_SIZE_PX, align: 'left', baseline: 'middle' },
    );
}

/** Return where the visible part of a line ends; null if none is visible. */
function findEnd({ x, y, axis }: Pick<Line, 'x' | 'y' | 'axis'>, layout: PlotLayout) {
  const [from, to] = findVisibleRange(x, layout.x.scale, true);
  const { top, height } = layout.plotArea;
  for (let at = to - 1; at >= from; at--) {
    const pixel = getYScale(layout, axis).toPixel(y[at] ?? NaN);
    if (Number.isFinite(pixel)) return Math.min(top + height, Math.max(top, pixel));
  }
  return null;
}

/**
 * Move positions apart so that neighbors have a distance of `gap`, within a range and as little as
 * possible. Positions that touch form a block around their mean.
 */
export function spreadPositions(
  positions: readonly number[],
  gap: number,
  [low, high]: readonly [number, number],
): number[] {
  const order = positions.map((_, index) => index);
  order.sort((a, b) => (positions[a] ?? 0) - (positions[b] ?? 0));
  const blocks: { first: number; count: number; sum: number }[] = [];
  const getStart = ({ count, sum }: { count: number; sum: number }): number =>
    Math.max(low, Math.min(high - (count - 1) * gap, sum / count - ((count - 1) * gap) / 2));
  for (const [rank, index] of order.entries()) {
    let block = { first: rank, count: 1, sum: positions[index] ?? 0 };
    for (let last = blocks.at(-1); last; last = blocks.at(-1)) {
      if (getStart(last) + last.count * gap <= getStart(block)) break;
      blocks.pop();
      block = { first: last.first, count: last.count + block.count, sum: last.sum + block.sum };
    }
    blocks.push(block);
  }
  const spread = new Array<number>(positions.length).fill(0);
  for (const block of blocks)
    for (let at = 0; at < block.count; at++)
      spread[order[block.first + at] ?? 0] = getStart(block) + at * gap;
  return spread;
}
