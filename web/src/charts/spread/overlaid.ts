import type { Path, Pen } from '../pen/pen';
import type { Layout } from '../picture/layout';
import type { Palette } from '../picture/palette';
import type { Ends } from './ends';
import { strengthOf } from './ridges';
import type { Spread } from './types';

/** The counts of one histogram as a line over its values, in pixels. */
export function lineOf(
  spread: Spread,
  at: number,
  grid: Float64Array,
  layout: Layout,
  ends: Ends,
): Path {
  const bins = grid.length - 1;
  const points = new Float32Array(2 * bins);
  for (let bin = 0; bin < bins; bin++) {
    points[2 * bin] = layout.x.scale.at(((grid[bin] ?? 0) + (grid[bin + 1] ?? 0)) / 2);
    points[2 * bin + 1] = layout.y.scale.at(onAxis(spread.rows[at * bins + bin] ?? 0, ends));
  }
  return { points, length: 2 * bins };
}

/** Where a count stands on the axis, which of a logarithmic one is where its logarithm is. */
export function onAxis(count: number, { log }: Ends): number {
  return log ? Math.log1p(Math.max(0, count)) : count;
}

export function drawOverlaid(
  pen: Pen,
  spread: Spread,
  grid: Float64Array,
  layout: Layout,
  ends: Ends,
): void {
  const last = spread.x.length - 1;
  for (let at = 0; at <= last; at++) {
    const x = spread.x[at] ?? 0;
    if (x < ends.steps[0] || x > ends.steps[1]) continue;
    const opacity = 0.8 * strengthOf(x, ends.steps) ** 1.5 + (at === last ? 0.3 : 0);
    const style = {
      colour: spread.colour,
      width: at === last ? 1.8 : 1.1,
      opacity: Math.min(1, opacity),
    };
    pen.stroke(lineOf(spread, at, grid, layout, ends), style);
  }
}

export function drawLitLine(
  pen: Pen,
  spread: Spread,
  at: number,
  grid: Float64Array,
  layout: Layout,
  ends: Ends,
  { paper, text }: Palette,
): void {
  const line = lineOf(spread, at, grid, layout, ends);
  pen.stroke(line, { colour: paper, width: 5, opacity: 0.8 });
  pen.stroke(line, { colour: text, width: 2 });
}
