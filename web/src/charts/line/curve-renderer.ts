import { bisectLeft, type ChartContent } from '../axes/domain';
import { LABEL_SIZE_PX, type PlotLayout } from '../axes/plot-layout';
import type { Scale } from '../axes/scale';
import type { ChartTheme } from '../renderer/chart-theme';
import { type AreaEdges, expandRect, type Path, type Renderer } from '../renderer/renderer';
import type { Band, Line, NumberArray, NumberRange, ReferenceLine } from '../types';

/** One buffer for every path: a pen has used a path before the next one is traced. */
let pathBuffer = new Float32Array(4096);

function reserveBuffer(numbers: number): Float32Array {
  if (pathBuffer.length < numbers) pathBuffer = new Float32Array(2 * numbers);
  return pathBuffer;
}

/** The points of a curve that are seen, with the two that lie next to them outside. */
export function findVisibleRange(x: NumberArray, scale: Scale, isRising: boolean): NumberRange {
  if (!isRising) return [0, x.length];
  const [low, high] = scale.domain;
  return [Math.max(0, bisectLeft(x, low) - 1), Math.min(x.length, bisectLeft(x, high) + 1)];
}

/** A curve in pixels, with a gap where a value is none. */
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

/** One line that goes from low to high at one point and from high to low at the next. */
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

/** The edges of the area between two curves, in pixels. */
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
/** More lines than this are thin, and a crowd of them is as fine as can be: more is seen of each. */
const THIN_LINES_FROM = 40;
const HAIRLINES_FROM = 100;
const SINGLE_POINT_RADIUS = 2.5;
const RAW_OPACITY = 0.25;
const ENVELOPE_OPACITY = 0.2;
const BAND_OPACITY = 0.16;
const OVERWRITTEN_OPACITY = 0.45;
const DIMMED_OPACITY = 0.15;

/** The curves of a chart: areas first, then what is pale, then the lines. */
export function drawCurves(
  pen: Renderer,
  layout: PlotLayout,
  { lines, bands }: ChartContent,
): void {
  const isCrowded = lines.length > THIN_LINES_FROM;
  const width = chooseLineWidth(lines.length);
  const [back, front] = [
    lines.filter(({ dimmed }) => dimmed),
    lines.filter((line) => !line.dimmed),
  ];
  // A line along the very edge is seen in its whole width.
  pen.clip(expandRect(layout.plotArea, LINE_WIDTH), () => {
    for (const band of bands) drawBand(pen, layout, band);
    for (const line of front) drawBackground(pen, layout, line, isCrowded);
    for (const line of back) drawLine(pen, layout, line, width);
    for (const line of front) {
      if (isCrowded && !line.raw) drawMinMaxLine(pen, layout, line, width);
      else drawLine(pen, layout, line, width);
    }
  });
}

function chooseLineWidth(lines: number): number {
  if (lines <= THIN_LINES_FROM) return LINE_WIDTH;
  return lines <= HAIRLINES_FROM ? THIN_LINE_WIDTH : HAIRLINE_WIDTH;
}

/** The scale of the axis that a curve belongs to. */
export function getYScale({ y, y2 }: PlotLayout, axis: 0 | 1): Scale {
  return axis === 1 && y2 ? y2.scale : y.scale;
}

export function drawLine(pen: Renderer, layout: PlotLayout, line: Line, width = LINE_WIDTH): void {
  const { color, dash, x, y } = line;
  const ys = getYScale(layout, line.axis);
  const part = findVisibleRange(x, layout.x.scale, !line.scatter);
  const opacity = line.dimmed ? DIMMED_OPACITY : 1;
  pen.stroke(traceCurve(x, y, layout.x.scale, ys, part), { color, width, dash, opacity });
  for (const at of iterSinglePoints(y, part))
    pen.dot(layout.x.scale.toPixel(x[at] ?? NaN), ys.toPixel(y[at] ?? NaN), SINGLE_POINT_RADIUS, {
      color,
    });
}

/** A value with none beside it would be a line of no length. */
function* iterSinglePoints(y: Line['y'], [from, to]: NumberRange): Generator<number> {
  let before = false;
  for (let at = from; at < to; at++) {
    const here = Number.isFinite(y[at] ?? NaN);
    if (here && !before && !Number.isFinite(y[at + 1] ?? NaN)) yield at;
    before = here;
  }
}

/** Among many lines one shows how far its values reach by itself, without an area behind it. */
function drawMinMaxLine(pen: Renderer, layout: PlotLayout, line: Line, width: number): void {
  const { color, dash, x, low, high } = line;
  if (!low || !high) return drawLine(pen, layout, line, width);
  const part = findVisibleRange(x, layout.x.scale, !line.scatter);
  const ys = getYScale(layout, line.axis);
  pen.stroke(traceMinMax({ x, low, high }, layout.x.scale, ys, part), { color, width, dash });
}

/** What a line stands for besides itself: overwritten points, all values of a column, raw values. */
function drawBackground(pen: Renderer, layout: PlotLayout, line: Line, isCrowded: boolean): void {
  const { color, x, low, high, raw } = line;
  const xs = layout.x.scale;
  const ys = getYScale(layout, line.axis);
  const part = findVisibleRange(x, xs, !line.scatter);
  drawOverwritten(pen, layout, line);
  if (isCrowded) return;
  if (low && high)
    pen.area(traceArea({ x, low, high }, xs, ys, part), { color, opacity: ENVELOPE_OPACITY });
  else if (raw)
    pen.stroke(traceCurve(x, raw, xs, ys, part), {
      color,
      width: THIN_LINE_WIDTH,
      opacity: RAW_OPACITY,
    });
}

function drawOverwritten(
  pen: Renderer,
  layout: PlotLayout,
  { color, axis, overwritten = [] }: Line,
): void {
  const ys = getYScale(layout, axis);
  for (const { x, y } of overwritten) {
    const path = traceCurve(x, y, layout.x.scale, ys, [0, x.length]);
    pen.stroke(path, { color, width: THIN_LINE_WIDTH, opacity: OVERWRITTEN_OPACITY });
  }
}

function drawBand(pen: Renderer, layout: PlotLayout, band: Band): void {
  const { color, x, center } = band;
  const ys = getYScale(layout, band.axis);
  const part = findVisibleRange(x, layout.x.scale, true);
  pen.area(traceArea(band, layout.x.scale, ys, part), { color, opacity: BAND_OPACITY });
  pen.stroke(traceCurve(x, center, layout.x.scale, ys, part), { color, width: LINE_WIDTH });
}

const REFERENCE_LABEL_GAP_PX = 3;

/** Lines that others are read against. */
export function drawReferenceLines(
  pen: Renderer,
  layout: PlotLayout,
  guides: readonly ReferenceLine[],
  { axis, label }: ChartTheme,
): void {
  const { plotArea, x, y } = layout;
  pen.clip(plotArea, () => {
    for (const guide of guides) {
      const path = traceCurve(guide.x, guide.y, x.scale, y.scale, [0, guide.x.length]);
      pen.stroke(path, { color: axis, width: 1, dash: guide.dash ?? [] });
    }
  });
  for (const guide of guides) drawReferenceLabel(pen, layout, guide, label);
}

function drawReferenceLabel(
  pen: Renderer,
  layout: PlotLayout,
  guide: ReferenceLine,
  color: string,
): void {
  const { plotArea, x, y } = layout;
  const place = findLabelIndex(guide, layout);
  if (place < 0 || guide.label === '') return;
  const isEnd = place === guide.x.length - 1;
  const align = isEnd ? 'right' : 'left';
  const across =
    x.scale.toPixel(guide.x[place] ?? NaN) +
    (isEnd ? -REFERENCE_LABEL_GAP_PX : REFERENCE_LABEL_GAP_PX);
  // The word of a line that ends in the upper edge has no room above it.
  const foot = Math.max(
    y.scale.toPixel(guide.y[place] ?? NaN) - REFERENCE_LABEL_GAP_PX,
    plotArea.top + LABEL_SIZE_PX + REFERENCE_LABEL_GAP_PX,
  );
  pen.text(guide.label, across, foot, {
    color,
    size: LABEL_SIZE_PX,
    align,
    baseline: 'bottom',
  });
}

/** Where the word stands; -1 for a guide that is not seen. */
function findLabelIndex(guide: ReferenceLine, { x, y }: PlotLayout): number {
  const isIn = (value: number | undefined, [low, high]: readonly [number, number]): boolean =>
    value !== undefined && value >= low && value <= high;
  const isSeen = (across: number | undefined, at: number): boolean =>
    isIn(across, x.scale.domain) && isIn(guide.y[at], y.scale.domain);
  const { labelIndex } = guide;
  if (labelIndex !== undefined && isSeen(guide.x[labelIndex], labelIndex)) return labelIndex;
  return guide.x.findLastIndex(isSeen);
}
