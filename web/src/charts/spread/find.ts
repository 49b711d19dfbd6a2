import type { Point } from '../pen/pen';
import type { Panel, PanelSet } from './panels';
import { onAxis } from './overlaid';
import { ridgeOf } from './ridges';
import {
  isBands,
  isFlat,
  MEDIAN,
  type Spread,
  type SpreadContent,
  type SpreadMode,
  type SpreadSpot,
} from './types';

/** How near to a line a pointer has to be to mean it, in pixels. */
const NEAR = 60;

/** The panel under a point, or the one that is nearest to it. */
export function panelAt({ panels }: PanelSet, { x, y }: Point): Panel | undefined {
  let best: Panel | undefined;
  let least = Infinity;
  for (const panel of panels) {
    const { left, top, width, height } = panel.layout.frame;
    const dx = Math.max(left - x, 0, x - left - width);
    const dy = Math.max(top - y, 0, y - top - height);
    if (dx + dy < least) [best, least] = [panel, dx + dy];
  }
  return best;
}

/** What is under a point of a chart. */
export function findSpot(
  content: SpreadContent,
  set: PanelSet,
  mode: SpreadMode,
  point: Point,
): SpreadSpot | null {
  const panel = panelAt(set, point);
  if (!panel || panel.spreads.length === 0) return null;
  const { layout } = panel;
  const value = (isFlat(mode) ? layout.x : layout.y).scale.valueAt(
    isFlat(mode) ? point.x : point.y,
  );
  if (isBands(mode)) return findBand(content, panel, point, value);
  const [number = 0] = panel.spreads;
  const spread = content.spreads[number];
  if (!spread) return null;
  const at =
    mode === 'offset'
      ? ridgeUnder(content, set, panel, spread, point)
      : mode === 'overlay'
        ? lineNear(content, set, panel, spread, point)
        : nearestIndex(spread.x, layout.x.scale.valueAt(point.x));
  return at < 0 ? null : { spread: number, at, value };
}

/** Of several runs the one whose median is nearest. */
function findBand(
  { spreads }: SpreadContent,
  { spreads: shown, layout }: Panel,
  point: Point,
  value: number,
): SpreadSpot | null {
  const place = layout.x.scale.valueAt(point.x);
  let best: SpreadSpot | null = null;
  let least = Infinity;
  for (const number of shown) {
    const { x, nine } = spreads[number] ?? EMPTY;
    const at = nearestIndex(x, place);
    if (at < 0) continue;
    const median = layout.y.scale.at(nine[at * 9 + MEDIAN] ?? NaN);
    const far = Number.isNaN(median) ? 1e9 : Math.abs(median - point.y);
    if (far < least) [best, least] = [{ spread: number, at, value }, far];
  }
  return best;
}

const EMPTY: Pick<Spread, 'x' | 'nine'> = { x: new Float64Array(), nine: new Float64Array() };

/** The ridge in front whose colour is under the point; else the one whose foot is nearest. */
function ridgeUnder(
  { grid }: SpreadContent,
  { ends }: PanelSet,
  { layout }: Panel,
  spread: Spread,
  { x, y }: Point,
): number {
  const bin = binAt(grid, layout.x.scale.valueAt(x));
  let nearest = -1;
  let least = Infinity;
  for (let at = spread.x.length - 1; at >= 0; at--) {
    const place = spread.x[at] ?? 0;
    if (place < ends.steps[0] || place > ends.steps[1]) continue;
    const { low, high } = ridgeOf(spread, at, grid, layout, ends);
    const [foot, crest] = [low[bin + 1] ?? 0, high[bin + 1] ?? 0];
    if (y <= foot && y >= crest - 1 && foot - crest > 0.5) return at;
    const far = Math.abs(foot - y);
    if (far < least) [nearest, least] = [at, far];
  }
  return nearest;
}

function lineNear(
  { grid }: SpreadContent,
  { ends }: PanelSet,
  { layout }: Panel,
  spread: Spread,
  { x, y }: Point,
): number {
  const bins = grid.length - 1;
  const bin = binAt(grid, layout.x.scale.valueAt(x));
  let nearest = -1;
  let least = NEAR;
  for (let at = spread.x.length - 1; at >= 0; at--) {
    const place = spread.x[at] ?? 0;
    if (place < ends.steps[0] || place > ends.steps[1]) continue;
    const far = Math.abs(layout.y.scale.at(onAxis(spread.rows[at * bins + bin] ?? 0, ends)) - y);
    if (far < least) [nearest, least] = [at, far];
  }
  return nearest;
}

/** The bin that holds a value, or the outermost where none does. */
export function binAt(grid: Float64Array, value: number): number {
  const bins = grid.length - 1;
  const [low = 0, high = 1] = [grid[0], grid[bins]];
  const bin = Math.floor(((value - low) / (high - low)) * bins);
  return Math.min(bins - 1, Math.max(0, bin));
}

/** Where in a rising column a place is, or what is nearest to it; -1 in an empty one. */
export function nearestIndex(x: Float64Array, place: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return x.length > 0 ? 0 : -1;
  const isBefore = low === x.length || place - (x[low - 1] ?? 0) <= (x[low] ?? 0) - place;
  return isBefore ? low - 1 : low;
}
