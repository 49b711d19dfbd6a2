import type { Scale } from '../axis/scale';
import { around, type Pen } from '../pen/pen';
import type { Content } from '../axis/fit';
import type { Band, Line, Span } from '../types';
import type { Layout } from './layout';
import { seenPart, traceArea, traceCurve, traceReach } from './trace';

const WIDTH = 1.5;
const THIN = 1;
const FINEST = 0;
/** More lines than this are thin, and a crowd of them is as fine as can be: more is seen of each. */
const MANY = 40;
const CROWD = 100;
const LONE_RADIUS = 2.5;
const RAW_OPACITY = 0.25;
const ENVELOPE_OPACITY = 0.2;
const BAND_OPACITY = 0.16;
const FADED_OPACITY = 0.45;
const DIMMED_OPACITY = 0.15;

/** The curves of a chart: areas first, then what is pale, then the lines. */
export function drawCurves(pen: Pen, layout: Layout, { lines, bands }: Content): void {
  const isCrowded = lines.length > MANY;
  const width = widthAmong(lines.length);
  const [back, front] = [
    lines.filter(({ dimmed }) => dimmed),
    lines.filter((line) => !line.dimmed),
  ];
  // A line along the very edge is seen in its whole width.
  pen.inside(around(layout.frame, WIDTH), () => {
    for (const band of bands) drawBand(pen, layout, band);
    for (const line of front) drawBehind(pen, layout, line, isCrowded);
    for (const line of back) drawLine(pen, layout, line, width);
    for (const line of front) {
      if (isCrowded && !line.raw) drawReach(pen, layout, line, width);
      else drawLine(pen, layout, line, width);
    }
  });
}

function widthAmong(lines: number): number {
  if (lines <= MANY) return WIDTH;
  return lines <= CROWD ? THIN : FINEST;
}

/** The scale of the axis that a curve belongs to. */
export function verticalScale({ y, y2 }: Layout, axis: 0 | 1): Scale {
  return axis === 1 && y2 ? y2.scale : y.scale;
}

export function drawLine(pen: Pen, layout: Layout, line: Line, width = WIDTH): void {
  const { colour, dash, x, y } = line;
  const ys = verticalScale(layout, line.axis);
  const part = seenPart(x, layout.x.scale, !line.scatter);
  const opacity = line.dimmed ? DIMMED_OPACITY : 1;
  pen.stroke(traceCurve(x, y, layout.x.scale, ys, part), { colour, width, dash, opacity });
  for (const at of lonePoints(y, part))
    pen.dot(layout.x.scale.at(x[at] ?? NaN), ys.at(y[at] ?? NaN), LONE_RADIUS, { colour });
}

/** A value with none beside it would be a line of no length. */
function* lonePoints(y: Line['y'], [from, to]: Span): Generator<number> {
  let before = false;
  for (let at = from; at < to; at++) {
    const here = Number.isFinite(y[at] ?? NaN);
    if (here && !before && !Number.isFinite(y[at + 1] ?? NaN)) yield at;
    before = here;
  }
}

/** Among many lines one shows how far its values reach by itself, without an area behind it. */
function drawReach(pen: Pen, layout: Layout, line: Line, width: number): void {
  const { colour, dash, x, low, high } = line;
  if (!low || !high) return drawLine(pen, layout, line, width);
  const part = seenPart(x, layout.x.scale, !line.scatter);
  const ys = verticalScale(layout, line.axis);
  pen.stroke(traceReach({ x, low, high }, layout.x.scale, ys, part), { colour, width, dash });
}

/** What a line stands for besides itself: overwritten points, all values of a column, raw values. */
function drawBehind(pen: Pen, layout: Layout, line: Line, isCrowded: boolean): void {
  const { colour, x, low, high, raw } = line;
  const xs = layout.x.scale;
  const ys = verticalScale(layout, line.axis);
  const part = seenPart(x, xs, !line.scatter);
  drawFaded(pen, layout, line);
  if (isCrowded) return;
  if (low && high)
    pen.area(traceArea({ x, low, high }, xs, ys, part), { colour, opacity: ENVELOPE_OPACITY });
  else if (raw)
    pen.stroke(traceCurve(x, raw, xs, ys, part), { colour, width: THIN, opacity: RAW_OPACITY });
}

function drawFaded(pen: Pen, layout: Layout, { colour, axis, faded = [] }: Line): void {
  const ys = verticalScale(layout, axis);
  for (const { x, y } of faded) {
    const path = traceCurve(x, y, layout.x.scale, ys, [0, x.length]);
    pen.stroke(path, { colour, width: THIN, opacity: FADED_OPACITY });
  }
}

function drawBand(pen: Pen, layout: Layout, band: Band): void {
  const { colour, x, center } = band;
  const ys = verticalScale(layout, band.axis);
  const part = seenPart(x, layout.x.scale, true);
  pen.area(traceArea(band, layout.x.scale, ys, part), { colour, opacity: BAND_OPACITY });
  pen.stroke(traceCurve(x, center, layout.x.scale, ys, part), { colour, width: WIDTH });
}
