import type { Scale } from '../axis/scale';
import type { Pen } from '../pen/pen';
import type { Band, Line, Span } from '../types';
import type { Layout } from './layout';
import { seenPart, traceArea, traceCurve } from './trace';

const WIDTH = 1.5;
/** From so many lines on they are thin: finer to look at, and several times faster to draw. */
const MANY = 40;
const THIN = 1;
const RAW_OPACITY = 0.25;
const ENVELOPE_OPACITY = 0.2;
const BAND_OPACITY = 0.16;
const FADED_OPACITY = 0.3;
const DIMMED_OPACITY = 0.15;

/** The curves of a chart: areas first, then what is pale, then the lines. */
export function drawCurves(
  pen: Pen,
  layout: Layout,
  lines: readonly Line[],
  bands: readonly Band[],
): void {
  pen.inside(layout.frame, () => {
    for (const band of bands) drawBand(pen, layout, band);
    for (const line of lines) if (!line.dimmed) drawBehind(pen, layout, line);
    const width = lines.length > MANY ? THIN : WIDTH;
    for (const line of lines) if (line.dimmed) drawLine(pen, layout, line, width);
    for (const line of lines) if (!line.dimmed) drawLine(pen, layout, line, width);
  });
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
    pen.dot(layout.x.scale.at(x[at] ?? NaN), ys.at(y[at] ?? NaN), 2, { colour });
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

/** What a line stands for besides itself: overwritten points, all values of a column, raw values. */
function drawBehind(pen: Pen, layout: Layout, line: Line): void {
  const { colour, x, low, high, raw, faded = [] } = line;
  const xs = layout.x.scale;
  const ys = verticalScale(layout, line.axis);
  const part = seenPart(x, xs, !line.scatter);
  for (const piece of faded) {
    const path = traceCurve(piece.x, piece.y, xs, ys, [0, piece.x.length]);
    pen.stroke(path, { colour, width: THIN, opacity: FADED_OPACITY });
  }
  if (low && high)
    pen.fill(traceArea(x, low, high, xs, ys, part), { colour, opacity: ENVELOPE_OPACITY });
  else if (raw)
    pen.stroke(traceCurve(x, raw, xs, ys, part), { colour, width: THIN, opacity: RAW_OPACITY });
}

function drawBand(pen: Pen, layout: Layout, band: Band): void {
  const { colour, x, low, center, high } = band;
  const ys = verticalScale(layout, band.axis);
  const part = seenPart(x, layout.x.scale, true);
  const area = traceArea(x, low, high, layout.x.scale, ys, part);
  pen.fill(area, { colour, opacity: BAND_OPACITY });
  pen.stroke(traceCurve(x, center, layout.x.scale, ys, part), { colour, width: WIDTH });
}
