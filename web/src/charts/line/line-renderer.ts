import {
  alignToPixel,
  CHIP_HEIGHT_PX,
  drawAxes,
  drawLabelChip,
  LABEL_OFFSET_PX,
  LABEL_SIZE_PX,
  measureLabelChip,
  type PlotLayout,
  truncateToWidth,
} from '../axes/plot-axes';
import { bisectLeft, type ChartContent } from '../axes/domain';
import type { Scale } from '../axes/ticks';
import {
  type AreaEdges,
  type ChartTheme,
  expandRect,
  makePath,
  type Path,
  type Point,
  type Renderer,
} from '../renderer/renderer';
import type {
  Annotation,
  Band,
  Line,
  NumberArray,
  NumberRange,
  PointMarker,
  ReferenceLine,
} from '../types';

const MARKER_SIZE_PX = 4;
const LAST_DOT_RADIUS_PX = 2.5;
/** Maximum distance of the pointer to a marker. */
const MARKER_REACH_PX = 8;

/** A label at a position in pixels. */
export interface PlacedLabel {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

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
): PlacedLabel | null {
  let best: PlacedLabel | null = null;
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

/** Return the space above the plot area for the labels of annotations, which must not cover lines. */
export function getAnnotationSpace(annotations: readonly Annotation[]): number {
  return annotations.length > 0 ? CHIP_HEIGHT_PX : 0;
}

const ANNOTATION_GAP_PX = 4;
const ANNOTATION_REACH_PX = 4;
/** Narrower labels are omitted. */
const MIN_ANNOTATION_WIDTH_PX = 24;

/** Draw annotations: a vertical line with a label above it, which ends at the next annotation. */
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
    const top = getAnnotationTop(layout);
    const pole = makePath(at, top, at, plotArea.top + plotArea.height);
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
): PlacedLabel | null {
  const near = annotations.find(
    ({ x: value }) => Math.abs(x.scale.toPixel(value) - at.x) <= ANNOTATION_REACH_PX,
  );
  // In place of the label that is drawn, which may be truncated.
  const y = getAnnotationTop({ plotArea }) - LABEL_OFFSET_PX;
  return near ? { text: near.text, x: x.scale.toPixel(near.x), y } : null;
}

function getAnnotationTop({ plotArea }: Pick<PlotLayout, 'plotArea'>): number {
  return plotArea.top - CHIP_HEIGHT_PX - 1;
}

/** Draw the label to the right of the line; the last one is moved left to fit. */
function drawAnnotationLabel(
  renderer: Renderer,
  layout: PlotLayout,
  text: string,
  at: number,
  maxWidth: number,
  { background, accent }: ChartTheme,
): void {
  const { plotArea, size } = layout;
  const isLast = at + maxWidth + ANNOTATION_GAP_PX >= plotArea.left + plotArea.width;
  const shown = truncateToWidth(renderer, text, isLast ? plotArea.width / 2 : maxWidth);
  if (!isLast && maxWidth < MIN_ANNOTATION_WIDTH_PX) return;
  const half = measureLabelChip(renderer, shown) / 2;
  drawLabelChip(
    renderer,
    {
      ...{ text: shown, x: at + half, top: getAnnotationTop(layout) },
      ...{ color: background, background: accent },
    },
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

/** Shared by all paths: a renderer has drawn a path before the next one is traced. */
let pathBuffer = new Float32Array(4096);

function reserveBuffer(numbers: number): Float32Array {
  if (pathBuffer.length < numbers) pathBuffer = new Float32Array(2 * numbers);
  return pathBuffer;
}

/** Return the index range of the visible points and one point beyond each end. */
export function findVisibleRange(x: NumberArray, scale: Scale, isRising: boolean): NumberRange {
  if (!isRising) return [0, x.length];
  const [low, high] = scale.domain;
  return [Math.max(0, bisectLeft(x, low) - 1), Math.min(x.length, bisectLeft(x, high) + 1)];
}

/** Return a curve in pixels, with gaps at non-finite values. */
export function traceCurve(
  x: NumberArray,
  y: NumberArray,
  xs: Scale,
  ys: Scale,
  part: NumberRange,
): Path {
  const points = reserveBuffer(2 * (part[1] - part[0]));
  let length = 0;
  for (let at = part[0]; at < part[1]; at++) {
    const value = y[at] ?? NaN;
    const across = Number.isFinite(value) ? xs.toPixel(x[at] ?? NaN) : NaN;
    points[length++] = across;
    points[length++] = Number.isNaN(across) ? NaN : ys.toPixel(value);
  }
  return { points, length };
}

interface MinMaxCurve {
  readonly x: NumberArray;
  readonly low: NumberArray;
  readonly high: NumberArray;
}

/** Return a line that alternates between the minima and maxima of the points. */
export function traceMinMax(
  { x, low, high }: MinMaxCurve,
  xs: Scale,
  ys: Scale,
  part: NumberRange,
): Path {
  const points = reserveBuffer(4 * (part[1] - part[0]));
  let length = 0;
  for (let at = part[0]; at < part[1]; at++) {
    const [first, second] = at % 2 ? [high, low] : [low, high];
    for (const value of [first[at] ?? NaN, second[at] ?? NaN]) {
      points[length++] = Number.isFinite(value) ? xs.toPixel(x[at] ?? NaN) : NaN;
      points[length++] = ys.toPixel(value);
    }
  }
  return { points, length };
}

/** Return the area between two curves, in pixels. */
export function traceArea(
  { x, low, high }: MinMaxCurve,
  xs: Scale,
  ys: Scale,
  [from, to]: NumberRange,
): AreaEdges {
  const pixels = (column: NumberArray, scale: Scale): Float32Array =>
    Float32Array.from(column.subarray(from, to), (value) =>
      Number.isFinite(value) ? scale.toPixel(value) : NaN,
    );
  return { x: pixels(x, xs), low: pixels(low, ys), high: pixels(high, ys), length: to - from };
}

const LINE_WIDTH = 1.5;
const THIN_LINE_WIDTH = 1;
const HAIRLINE_WIDTH = 0;
/** Charts with many lines use thinner ones. */
const THIN_LINES_FROM = 40;
const HAIRLINES_FROM = 100;
const SINGLE_POINT_RADIUS = 2.5;
const RAW_OPACITY = 0.25;
const ENVELOPE_OPACITY = 0.2;
const BAND_OPACITY = 0.16;
const OVERWRITTEN_OPACITY = 0.45;
const DIMMED_OPACITY = 0.15;
/** Of a line among thousands. */
const MIN_OPACITY = 0.12;

/** Draw bands, then raw and overwritten values, then lines. */
export function drawCurves(
  renderer: Renderer,
  layout: PlotLayout,
  { lines, bands }: ChartContent,
): void {
  const isCrowded = lines.length > THIN_LINES_FROM;
  const width = chooseLineWidth(lines.length);
  const opacity = chooseLineOpacity(lines.length);
  const [back, front] = [
    lines.filter(({ dimmed }) => dimmed),
    lines.filter((line) => !line.dimmed),
  ];
  // Lines along the edge are drawn in full width.
  renderer.clip(expandRect(layout.plotArea, LINE_WIDTH), () => {
    for (const band of bands) drawBand(renderer, layout, band);
    for (const line of front) drawBackground(renderer, layout, line, isCrowded);
    for (const line of back) drawLine(renderer, layout, line, width);
    for (const line of front) {
      if (isCrowded && !line.raw) drawMinMaxLine(renderer, layout, line, width, opacity);
      else drawLine(renderer, layout, line, width, opacity);
    }
  });
}

function chooseLineWidth(lines: number): number {
  if (lines <= THIN_LINES_FROM) return LINE_WIDTH;
  return lines <= HAIRLINES_FROM ? THIN_LINE_WIDTH : HAIRLINE_WIDTH;
}

/** Many lines are translucent, so that it is visible where most of them are. */
export function chooseLineOpacity(lines: number): number {
  return lines <= HAIRLINES_FROM ? 1 : Math.max(MIN_OPACITY, Math.sqrt(HAIRLINES_FROM / lines));
}

/** Return the y scale of an axis. */
export function getYScale({ y, y2 }: PlotLayout, axis: 0 | 1): Scale {
  return axis === 1 && y2 ? y2.scale : y.scale;
}

export function drawLine(
  renderer: Renderer,
  layout: PlotLayout,
  line: Line,
  width = LINE_WIDTH,
  maxOpacity = 1,
): void {
  const { color, dash, x, y } = line;
  const ys = getYScale(layout, line.axis);
  const part = findVisibleRange(x, layout.x.scale, !line.scatter);
  const opacity = line.dimmed ? DIMMED_OPACITY : maxOpacity;
  renderer.stroke(traceCurve(x, y, layout.x.scale, ys, part), { color, width, dash, opacity });
  for (const at of iterSinglePoints(y, part))
    renderer.dot(
      layout.x.scale.toPixel(x[at] ?? NaN),
      ys.toPixel(y[at] ?? NaN),
      SINGLE_POINT_RADIUS,
      {
        color,
      },
    );
}

/** Return points without neighbors, which a line does not show. */
function* iterSinglePoints(y: Line['y'], [from, to]: NumberRange): Generator<number> {
  let before = false;
  for (let at = from; at < to; at++) {
    const here = Number.isFinite(y[at] ?? NaN);
    if (here && !before && !Number.isFinite(y[at + 1] ?? NaN)) yield at;
    before = here;
  }
}

/** Draw a line with the extremes of its columns, without an area behind it. */
function drawMinMaxLine(
  renderer: Renderer,
  layout: PlotLayout,
  line: Line,
  width: number,
  opacity: number,
): void {
  const { color, dash, x, low, high } = line;
  if (!low || !high) return drawLine(renderer, layout, line, width, opacity);
  const part = findVisibleRange(x, layout.x.scale, !line.scatter);
  const ys = getYScale(layout, line.axis);
  const path = traceMinMax({ x, low, high }, layout.x.scale, ys, part);
  renderer.stroke(path, { color, width, dash, opacity });
}

/** Draw what is behind a line: overwritten points, column extremes or raw values. */
function drawBackground(
  renderer: Renderer,
  layout: PlotLayout,
  line: Line,
  isCrowded: boolean,
): void {
  const { color, x, low, high, raw } = line;
  const xs = layout.x.scale;
  const ys = getYScale(layout, line.axis);
  const part = findVisibleRange(x, xs, !line.scatter);
  drawOverwritten(renderer, layout, line);
  if (isCrowded) return;
  if (low && high)
    renderer.area(traceArea({ x, low, high }, xs, ys, part), { color, opacity: ENVELOPE_OPACITY });
  else if (raw)
    renderer.stroke(traceCurve(x, raw, xs, ys, part), {
      color,
      width: THIN_LINE_WIDTH,
      opacity: RAW_OPACITY,
    });
}

function drawOverwritten(
  renderer: Renderer,
  layout: PlotLayout,
  { color, axis, overwritten = [] }: Line,
): void {
  const ys = getYScale(layout, axis);
  for (const { x, y } of overwritten) {
    const path = traceCurve(x, y, layout.x.scale, ys, [0, x.length]);
    renderer.stroke(path, { color, width: THIN_LINE_WIDTH, opacity: OVERWRITTEN_OPACITY });
  }
}

function drawBand(renderer: Renderer, layout: PlotLayout, band: Band): void {
  const { color, x, center } = band;
  const ys = getYScale(layout, band.axis);
  const part = findVisibleRange(x, layout.x.scale, true);
  for (const edges of band.inner ? [band, { ...band, ...band.inner }] : [band])
    renderer.area(traceArea(edges, layout.x.scale, ys, part), { color, opacity: BAND_OPACITY });
  const dash = band.dash ?? [];
  const curve = traceCurve(x, center, layout.x.scale, ys, part);
  renderer.stroke(curve, { color, width: LINE_WIDTH, dash });
  for (const at of findCountChanges(band)) drawCountChange(renderer, layout, band, at);
}

/** With more changes, marks would be all that is visible. */
const MAX_COUNT_CHANGES = 40;
const COUNT_MARK_REACH_PX = 5;

/** Return the indexes at which a band is from more or fewer series than before. */
export function findCountChanges({ count, center }: Pick<Band, 'count' | 'center'>): number[] {
  const changes: number[] = [];
  count?.forEach((series, at) => {
    const isGap = Number.isNaN((center[at] ?? NaN) + (center[at - 1] ?? NaN));
    if (!isGap && series !== count[at - 1]) changes.push(at);
  });
  return changes.length > MAX_COUNT_CHANGES ? [] : changes;
}

/** Draw a dotted line across the band, where it jumps because a series begins or ends. */
function drawCountChange(renderer: Renderer, layout: PlotLayout, band: Band, at: number): void {
  const { x, low, high, color } = band;
  const ys = getYScale(layout, band.axis);
  const across = alignToPixel(layout.x.scale.toPixel(((x[at - 1] ?? NaN) + (x[at] ?? NaN)) / 2));
  const ends = [low[at - 1], high[at - 1], low[at], high[at]].map((value) =>
    ys.toPixel(value ?? NaN),
  );
  const [top, bottom] = [Math.min(...ends), Math.max(...ends)];
  const path = makePath(across, top - COUNT_MARK_REACH_PX, across, bottom + COUNT_MARK_REACH_PX);
  renderer.stroke(path, { color, width: THIN_LINE_WIDTH, dash: [1.5, 2.5] });
}

const REFERENCE_LABEL_GAP_PX = 3;

/** Draw reference lines and their labels. */
export function drawReferenceLines(
  renderer: Renderer,
  layout: PlotLayout,
  referenceLines: readonly ReferenceLine[],
  { axis, label }: ChartTheme,
): void {
  const { plotArea, x, y } = layout;
  renderer.clip(plotArea, () => {
    for (const referenceLine of referenceLines) {
      const path = traceCurve(referenceLine.x, referenceLine.y, x.scale, y.scale, [
        0,
        referenceLine.x.length,
      ]);
      renderer.stroke(path, { color: axis, width: 1, dash: referenceLine.dash ?? [] });
    }
  });
  for (const referenceLine of referenceLines)
    drawReferenceLabel(renderer, layout, referenceLine, label);
}

function drawReferenceLabel(
  renderer: Renderer,
  layout: PlotLayout,
  referenceLine: ReferenceLine,
  color: string,
): void {
  const { plotArea, x, y } = layout;
  const place = findLabelIndex(referenceLine, layout);
  if (place < 0 || referenceLine.label === '') return;
  const isEnd = place === referenceLine.x.length - 1;
  const align = isEnd ? 'right' : 'left';
  const across =
    x.scale.toPixel(referenceLine.x[place] ?? NaN) +
    (isEnd ? -REFERENCE_LABEL_GAP_PX : REFERENCE_LABEL_GAP_PX);
  // Keep the label below the upper edge.
  const bottom = Math.max(
    y.scale.toPixel(referenceLine.y[place] ?? NaN) - REFERENCE_LABEL_GAP_PX,
    plotArea.top + LABEL_SIZE_PX + REFERENCE_LABEL_GAP_PX,
  );
  renderer.text(referenceLine.label, across, bottom, {
    color,
    size: LABEL_SIZE_PX,
    align,
    baseline: 'bottom',
  });
}

/** Return the index of the labeled point; -1 if the line is not visible. */
function findLabelIndex(referenceLine: ReferenceLine, { x, y }: PlotLayout): number {
  const isIn = (value: number | undefined, [low, high]: readonly [number, number]): boolean =>
    value !== undefined && value >= low && value <= high;
  const isSeen = (across: number | undefined, at: number): boolean =>
    isIn(across, x.scale.domain) && isIn(referenceLine.y[at], y.scale.domain);
  const { labelIndex } = referenceLine;
  if (labelIndex !== undefined && isSeen(referenceLine.x[labelIndex], labelIndex))
    return labelIndex;
  return referenceLine.x.findLastIndex(isSeen);
}
