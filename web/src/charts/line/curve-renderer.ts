import { bisectLeft, type ChartContent } from '../axes/domain';
import { LABEL_SIZE_PX, type PlotLayout } from '../axes/plot-layout';
import type { Scale } from '../axes/scale';
import type { ChartTheme } from '../renderer/chart-theme';
import { type AreaEdges, expandRect, type Path, type Renderer } from '../renderer/renderer';
import type { Band, Line, NumberArray, NumberRange, ReferenceLine } from '../types';

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

/** Draw bands, then raw and overwritten values, then lines. */
export function drawCurves(
  renderer: Renderer,
  layout: PlotLayout,
  { lines, bands }: ChartContent,
): void {
  const isCrowded = lines.length > THIN_LINES_FROM;
  const width = chooseLineWidth(lines.length);
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
      if (isCrowded && !line.raw) drawMinMaxLine(renderer, layout, line, width);
      else drawLine(renderer, layout, line, width);
    }
  });
}

function chooseLineWidth(lines: number): number {
  if (lines <= THIN_LINES_FROM) return LINE_WIDTH;
  return lines <= HAIRLINES_FROM ? THIN_LINE_WIDTH : HAIRLINE_WIDTH;
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
): void {
  const { color, dash, x, y } = line;
  const ys = getYScale(layout, line.axis);
  const part = findVisibleRange(x, layout.x.scale, !line.scatter);
  const opacity = line.dimmed ? DIMMED_OPACITY : 1;
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
function drawMinMaxLine(renderer: Renderer, layout: PlotLayout, line: Line, width: number): void {
  const { color, dash, x, low, high } = line;
  if (!low || !high) return drawLine(renderer, layout, line, width);
  const part = findVisibleRange(x, layout.x.scale, !line.scatter);
  const ys = getYScale(layout, line.axis);
  renderer.stroke(traceMinMax({ x, low, high }, layout.x.scale, ys, part), { color, width, dash });
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
  renderer.area(traceArea(band, layout.x.scale, ys, part), { color, opacity: BAND_OPACITY });
  renderer.stroke(traceCurve(x, center, layout.x.scale, ys, part), { color, width: LINE_WIDTH });
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
