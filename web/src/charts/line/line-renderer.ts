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
/** How near to a mark a pointer is on it. */
const MARKER_REACH_PX = 8;

/** A mark with its place in pixels. */
interface PlacedMarker {
  readonly marker: PointMarker;
  readonly color: string;
  readonly x: number;
  readonly y: number;
}

/** The marks that are seen. Those of no finite value stand at the edge where it would be. */
function* iterPlacedMarkers(lines: readonly Line[], layout: PlotLayout): Generator<PlacedMarker> {
  for (const line of lines)
    for (const mark of line.markers ?? []) {
      const x = layout.x.scale.toPixel(mark.x);
      const y = getMarkerY(mark, line, layout);
      if (isInPlotArea(x, y, layout)) yield { marker: mark, color: line.color, x, y };
    }
}

/** What the mark under a pointer says. */
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
  pen: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  { background }: ChartTheme,
): void {
  for (const { marker, color, x, y } of iterPlacedMarkers(lines, layout)) {
    if (marker.kind === 'last') pen.dot(x, y, LAST_DOT_RADIUS_PX, { color, ring: background });
    else if (marker.kind === 'nan') drawCross(pen, x, y, color);
    else drawTriangle(pen, x, y, marker.kind === 'inf' || marker.kind === 'max', color, background);
  }
}

/** Points up at a largest value and at infinity, down at the others. */
function drawTriangle(
  pen: Renderer,
  x: number,
  y: number,
  up: boolean,
  color: string,
  paper: string,
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
  pen.fill(shape(MARKER_SIZE_PX + 1.5), { color: paper });
  pen.fill(shape(MARKER_SIZE_PX), { color });
}

function drawCross(pen: Renderer, x: number, y: number, color: string): void {
  const reach = MARKER_SIZE_PX - 1;
  const one = [x - reach, y - reach, x + reach, y + reach];
  const other = [x - reach, y + reach, x + reach, y - reach];
  pen.stroke(makePath(...one, NaN, NaN, ...other), { color, width: 1.5 });
}

const ANNOTATION_GAP_PX = 4;
const ANNOTATION_REACH_PX = 4;
/** Narrower than this a word says nothing. */
const MIN_ANNOTATION_WIDTH_PX = 24;

/** What somebody wrote down at a step: a line, and its words as far as the next flag. */
export function drawAnnotations(
  pen: Renderer,
  layout: PlotLayout,
  flags: readonly Annotation[],
  palette: ChartTheme,
): void {
  const { plotArea, x } = layout;
  const right = plotArea.left + plotArea.width;
  const seen = flags
    .map(({ x: value, text }) => ({ at: alignToPixel(x.scale.toPixel(value)), text }))
    .filter(({ at }) => at >= plotArea.left - 1 && at <= right + 1)
    .sort((one, other) => one.at - other.at);
  for (const [index, { at, text }] of seen.entries()) {
    const pole = makePath(at, plotArea.top, at, plotArea.top + plotArea.height);
    pen.stroke(pole, { color: palette.accent, width: 1, dash: [2, 2] });
    drawAnnotationLabel(
      pen,
      layout,
      text,
      at,
      (seen[index + 1]?.at ?? right) - at - ANNOTATION_GAP_PX,
      palette,
    );
  }
}

/** What the flag whose pole is under a pointer says, in full. */
export function findAnnotationAt(
  flags: readonly Annotation[],
  { x, plotArea }: PlotLayout,
  at: Point,
): OverlayLabel | null {
  const near = flags.find(
    ({ x: value }) => Math.abs(x.scale.toPixel(value) - at.x) <= ANNOTATION_REACH_PX,
  );
  return near ? { text: near.text, x: x.scale.toPixel(near.x), y: plotArea.top } : null;
}

/** To the right of the pole, or at the end of the chart where there is more room on its left. */
function drawAnnotationLabel(
  pen: Renderer,
  { plotArea, size }: PlotLayout,
  text: string,
  at: number,
  room: number,
  { background, accent }: ChartTheme,
): void {
  const isLast = at + room + ANNOTATION_GAP_PX >= plotArea.left + plotArea.width;
  const shown = truncateToWidth(pen, text, isLast ? plotArea.width / 2 : room);
  if (!isLast && room < MIN_ANNOTATION_WIDTH_PX) return;
  const half = measureLabelChip(pen, shown) / 2;
  drawLabelChip(
    pen,
    { text: shown, x: at + half, top: plotArea.top, color: background, background: accent },
    size,
  );
}

/** All of a chart that does not change with the pointer. */
export interface LineChartContent extends ChartContent {
  readonly annotations: readonly Annotation[];
  readonly referenceLines?: readonly ReferenceLine[];
  readonly layout: PlotLayout;
}

export function drawLineChart(pen: Renderer, picture: LineChartContent, palette: ChartTheme): void {
  const { layout, lines, annotations, referenceLines = [] } = picture;
  drawAxes(pen, layout, palette);
  drawReferenceLines(pen, layout, referenceLines, palette);
  drawCurves(pen, layout, picture);
  drawAnnotations(pen, layout, annotations, palette);
  drawMarkers(pen, layout, lines, palette);
}
