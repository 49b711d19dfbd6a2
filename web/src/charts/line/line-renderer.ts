import {
  alignToPixel,
  drawAxes,
  drawLabelChip,
  measureLabelChip,
  truncateToWidth,
} from '../axes/axis-renderer';
import type { ChartContent } from '../axes/domain';
import type { PlotLayout } from '../axes/plot-layout';
import type { ChartTheme } from '../renderer/chart-theme';
import { makePath, type Path, type Point, type Renderer } from '../renderer/renderer';
import type { Annotation, Line, PointMarker, ReferenceLine } from '../types';
import { drawCurves, drawReferenceLines, getYScale } from './curve-renderer';
import type { OverlayLabel } from './line-overlay';

const MARKER_SIZE_PX = 4;
const LAST_DOT_RADIUS_PX = 2.5;
/** Maximum distance of the pointer to a marker. */
const MARKER_REACH_PX = 8;

/** A marker and its position in pixels. */
interface PlacedMarker {
  readonly marker: PointMarker;
  readonly color: string;
  readonly x: number;
  readonly y: number;
}

/** Return the visible markers. Non-finite values are at the top or bottom edge. */
function* iterPlacedMarkers(lines: readonly Line[], layout: PlotLayout): Generator<PlacedMarker> {
  for (const line of lines)
    for (const mark of line.markers ?? []) {
      const x = layout.x.scale.toPixel(mark.x);
      const y = getMarkerY(mark, line, layout);
      if (isInPlotArea(x, y, layout)) yield { marker: mark, color: line.color, x, y };
    }
}

/** Return the label of the marker at a point. */
export function findMarkerAt(
  lines: readonly Line[],
  layout: PlotLayout,
  at: Point,
): OverlayLabel | null {
  let best: OverlayLabel | null = null;
  let least = MARKER_REACH_PX;
  for (const { marker, x, y } of iterPlacedMarkers(lines, layout)) {
    const distance = Math.hypot(x - at.x, y - at.y);
    if (distance < least) [best, least] = [{ text: marker.text, x, y }, distance];
  }
  return best;
}

function getMarkerY({ kind, y }: PointMarker, line: Line, layout: PlotLayout): number {
  const { top, height } = layout.plotArea;
  if (kind === 'inf') return top + MARKER_SIZE_PX;
  if (kind === 'nan' || kind === '-inf') return top + height - MARKER_SIZE_PX;
  return getYScale(layout, line.axis).toPixel(y);
}

function isInPlotArea(x: number, y: number, { plotArea }: PlotLayout): boolean {
  const { left, top, width, height } = plotArea;
  return x >= left && x <= left + width && y >= top && y <= top + height;
}

export function drawMarkers(
  renderer: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  { background }: ChartTheme,
): void {
  for (const { marker, color, x, y } of iterPlacedMarkers(lines, layout)) {
    if (marker.kind === 'last') renderer.dot(x, y, LAST_DOT_RADIUS_PX, { color, ring: background });
    else if (marker.kind === 'nan') drawCross(renderer, x, y, color);
    else
      drawTriangle(
        renderer,
        x,
        y,
        marker.kind === 'inf' || marker.kind === 'max',
        color,
        background,
      );
  }
}

/** Draw a triangle: up for maxima and infinity, down otherwise. */
function drawTriangle(
  renderer: Renderer,
  x: number,
  y: number,
  up: boolean,
  color: string,
  background: string,
): void {
  const tip = up ? -MARKER_SIZE_PX : MARKER_SIZE_PX;
  const shape = (size: number): Path =>
    makePath(
      x - size,
      y - tip * 0.8,
      x + size,
      y - tip * 0.8,
      x,
      y + tip * (size / MARKER_SIZE_PX),
    );
  renderer.fill(shape(MARKER_SIZE_PX + 1.5), { color: background });
  renderer.fill(shape(MARKER_SIZE_PX), { color });
}

function drawCross(renderer: Renderer, x: number, y: number, color: string): void {
  const reach = MARKER_SIZE_PX - 1;
  const one = [x - reach, y - reach, x + reach, y + reach];
  const other = [x - reach, y + reach, x + reach, y - reach];
  renderer.stroke(makePath(...one, NaN, NaN, ...other), { color, width: 1.5 });
}

const ANNOTATION_GAP_PX = 4;
const ANNOTATION_REACH_PX = 4;
/** Narrower labels are omitted. */
const MIN_ANNOTATION_WIDTH_PX = 24;

/** Draw annotations: a vertical line with a label that ends at the next annotation. */
export function drawAnnotations(
  renderer: Renderer,
  layout: PlotLayout,
  annotations: readonly Annotation[],
  theme: ChartTheme,
): void {
  const { plotArea, x } = layout;
  const right = plotArea.left + plotArea.width;
  const visible = annotations
    .map(({ x: value, text }) => ({ at: alignToPixel(x.scale.toPixel(value)), text }))
    .filter(({ at }) => at >= plotArea.left - 1 && at <= right + 1)
    .sort((one, other) => one.at - other.at);
  for (const [index, { at, text }] of visible.entries()) {
    const pole = makePath(at, plotArea.top, at, plotArea.top + plotArea.height);
    renderer.stroke(pole, { color: theme.accent, width: 1, dash: [2, 2] });
    drawAnnotationLabel(
      renderer,
      layout,
      text,
      at,
      (visible[index + 1]?.at ?? right) - at - ANNOTATION_GAP_PX,
      theme,
    );
  }
}

/** Return the full label of the annotation at a point. */
export function findAnnotationAt(
  annotations: readonly Annotation[],
  { x, plotArea }: PlotLayout,
  at: Point,
): OverlayLabel | null {
  const near = annotations.find(
    ({ x: value }) => Math.abs(x.scale.toPixel(value) - at.x) <= ANNOTATION_REACH_PX,
  );
  return near ? { text: near.text, x: x.scale.toPixel(near.x), y: plotArea.top } : null;
}

/** Draw the label to the right of the line; the last one is moved left to fit. */
function drawAnnotationLabel(
  renderer: Renderer,
  { plotArea, size }: PlotLayout,
  text: string,
  at: number,
  maxWidth: number,
  { background, accent }: ChartTheme,
): void {
  const isLast = at + maxWidth + ANNOTATION_GAP_PX >= plotArea.left + plotArea.width;
  const shown = truncateToWidth(renderer, text, isLast ? plotArea.width / 2 : maxWidth);
  if (!isLast && maxWidth < MIN_ANNOTATION_WIDTH_PX) return;
  const half = measureLabelChip(renderer, shown) / 2;
  drawLabelChip(
    renderer,
    { text: shown, x: at + half, top: plotArea.top, color: background, background: accent },
    size,
  );
}

/** The part of a chart that does not follow the pointer. */
export interface LineChartContent extends ChartContent {
  readonly annotations: readonly Annotation[];
  readonly referenceLines?: readonly ReferenceLine[];
  readonly layout: PlotLayout;
}

export function drawLineChart(
  renderer: Renderer,
  picture: LineChartContent,
  theme: ChartTheme,
): void {
  const { layout, lines, annotations, referenceLines = [] } = picture;
  drawAxes(renderer, layout, theme);
  drawReferenceLines(renderer, layout, referenceLines, theme);
  drawCurves(renderer, layout, picture);
  drawAnnotations(renderer, layout, annotations, theme);
  drawMarkers(renderer, layout, lines, theme);
}
