import type { Edges, Path, Pen } from '../pen/pen';
import type { Layout } from '../picture/layout';
import type { Palette } from '../picture/palette';
import { makeLevel, type Ends } from './ends';
import { RIDGE } from './panels';
import type { Spread } from './types';

/** How strong the colour of the oldest and of the newest is. */
const PALEST = 0.22;
const STRONGEST = 0.82;

/** How strong a histogram is coloured: the newer, the stronger. */
export function strengthOf(x: number, [first, last]: readonly [number, number]): number {
  const along = last > first ? (x - first) / (last - first) : 1;
  return PALEST + (STRONGEST - PALEST) * Math.min(1, Math.max(0, along));
}

/** The outline of one histogram above its foot, in pixels. */
export function ridgeOf(
  spread: Spread,
  at: number,
  grid: Float64Array,
  layout: Layout,
  ends: Ends,
): Edges {
  const bins = grid.length - 1;
  const foot = layout.y.scale.at(spread.x[at] ?? 0);
  const level = makeLevel(ends.most, ends.log);
  const tallest = layout.frame.height * (ends.steps[0] === ends.steps[1] ? 0.94 : RIDGE);
  const { x, low, high } = makeEdges(bins + 2);
  for (let point = 0; point < bins + 2; point++) {
    const bin = Math.min(bins - 1, Math.max(0, point - 1));
    x[point] = layout.x.scale.at(placeOf(grid, point));
    low[point] = foot;
    high[point] = foot - tallest * level(spread.rows[at * bins + bin] ?? 0);
  }
  return { x, low, high, length: bins + 2 };
}

/** The middle of each bin, and before and after them the ends of the grid. */
function placeOf(grid: Float64Array, point: number): number {
  const bins = grid.length - 1;
  if (point === 0) return grid[0] ?? 0;
  if (point === bins + 1) return grid[bins] ?? 0;
  return ((grid[point - 1] ?? 0) + (grid[point] ?? 0)) / 2;
}

function makeEdges(length: number): { x: Float32Array; low: Float32Array; high: Float32Array } {
  return {
    x: new Float32Array(length),
    low: new Float32Array(length),
    high: new Float32Array(length),
  };
}

/** From the oldest at the back to the newest in front, each hiding what is behind it. */
export function drawRidges(
  pen: Pen,
  spread: Spread,
  grid: Float64Array,
  layout: Layout,
  ends: Ends,
  { paper }: Palette,
): void {
  // Where ridges are near each other, lines between them would be all that is seen.
  const apart = (layout.frame.height * (1 - RIDGE)) / spread.x.length;
  const width = Math.min(1, apart / 2.5);
  for (let at = 0; at < spread.x.length; at++) {
    const x = spread.x[at] ?? 0;
    if (x < ends.steps[0] || x > ends.steps[1]) continue;
    const edges = ridgeOf(spread, at, grid, layout, ends);
    pen.area(edges, { colour: paper });
    pen.area(edges, { colour: spread.colour, opacity: strengthOf(x, ends.steps) });
    pen.stroke(crestOf(edges), { colour: paper, width, opacity: 0.9 });
  }
}

/** The one that is pointed at, in front of all others. */
export function drawLitRidge(
  pen: Pen,
  spread: Spread,
  at: number,
  grid: Float64Array,
  layout: Layout,
  ends: Ends,
  { text, paper }: Palette,
): void {
  const edges = ridgeOf(spread, at, grid, layout, ends);
  pen.area(edges, { colour: paper, opacity: 0.75 });
  pen.area(edges, { colour: spread.colour, opacity: 0.92 });
  pen.stroke(withoutFoot(crestOf(edges), edges.low[0] ?? 0), { colour: text, width: 1.25 });
}

/** A line along bins in which nothing was counted would look like an axis. */
function withoutFoot({ points, length }: Path, foot: number): Path {
  const isFoot = (at: number): boolean => Math.abs((points[2 * at + 1] ?? foot) - foot) < 0.25;
  const kept = points.slice();
  for (let at = 0; at < length / 2; at++)
    if (isFoot(at) && isFoot(at - 1) && isFoot(at + 1)) kept.fill(NaN, 2 * at, 2 * at + 2);
  return { points: kept, length };
}

export function crestOf({ x, high, length }: Edges): Path {
  const points = new Float32Array(2 * length);
  for (let at = 0; at < length; at++) {
    points[2 * at] = x[at] ?? 0;
    points[2 * at + 1] = high[at] ?? 0;
  }
  return { points, length: 2 * length };
}
