import { formatPlace } from '../axis/place';
import { type Box, pathOf, type Pen } from '../pen/pen';
import { crisp } from '../picture/axes';
import { CHIP_HEIGHT, drawChip } from '../picture/chip';
import type { Palette } from '../picture/palette';
import { binAt, nearestIndex } from './find';
import { drawLitLine, onAxis } from './overlaid';
import type { Panel, PanelSet } from './panels';
import { drawLitRidge, ridgeOf } from './ridges';
import {
  isBands,
  type Spread,
  type SpreadContent,
  type SpreadMode,
  type SpreadSpot,
} from './types';

/** What lies above the chart and changes with every move of a pointer. */
export interface Lit {
  /** What is pointed at in this chart. */
  readonly spot: SpreadSpot | null;
  /** The place on the axis of steps that is looked at, here or in another chart. */
  readonly cursor: number | null;
  readonly pinned: number | null;
  /** What is being dragged, in pixels. */
  readonly box: Box | null;
}

export function isDark({ spot, cursor, pinned, box }: Lit): boolean {
  return spot === null && cursor === null && pinned === null && box === null;
}

export function drawLit(
  pen: Pen,
  content: SpreadContent,
  set: PanelSet,
  mode: SpreadMode,
  lit: Lit,
  palette: Palette,
): void {
  const place = placeOf(content, lit);
  if (place !== null) {
    for (const panel of set.panels) {
      for (const number of panel.spreads) {
        const spread = content.spreads[number];
        if (!spread) continue;
        const isHere = lit.spot?.spread === number;
        const at = isHere ? (lit.spot?.at ?? -1) : indexAt(spread.x, place);
        const value = isHere ? (lit.spot?.value ?? null) : null;
        if (at >= 0 && isSeen(spread.x[at] ?? NaN, set))
          light(pen, spread, at, value, content, set, panel, mode, palette);
      }
    }
  }
  if (lit.box) drawBox(pen, lit.box, palette);
}

/** The histogram at a place; none where a run has ended long before, or has not begun. */
export function indexAt(x: Float64Array, place: number): number {
  const at = nearestIndex(x, place);
  const here = x[at] ?? NaN;
  const gap = Math.max(here - (x[at - 1] ?? here), (x[at + 1] ?? here) - here);
  return Math.abs(here - place) <= gap || here === place ? at : -1;
}

function placeOf({ spreads }: SpreadContent, { spot, cursor, pinned }: Lit): number | null {
  const own = spot && spreads[spot.spread]?.x[spot.at];
  return own ?? cursor ?? pinned;
}

function isSeen(x: number, { ends: { steps } }: PanelSet): boolean {
  return x >= steps[0] && x <= steps[1];
}

function light(
  pen: Pen,
  spread: Spread,
  at: number,
  value: number | null,
  { grid }: SpreadContent,
  { ends }: PanelSet,
  panel: Panel,
  mode: SpreadMode,
  palette: Palette,
): void {
  const { layout } = panel;
  const x = spread.x[at] ?? 0;
  if (isBands(mode)) return lightBands(pen, spread, at, panel, palette);
  if (grid.length < 2) return;
  const bin = value === null ? -1 : binAt(grid, value);
  if (mode === 'heat') return lightColumn(pen, x, bin, grid, panel, palette);
  if (mode === 'offset') {
    pen.inside(
      { ...layout.frame, top: layout.frame.top - 2, height: layout.frame.height + 3 },
      () => drawLitRidge(pen, spread, at, grid, layout, ends, palette),
    );
    const { x: places, high } = ridgeOf(spread, at, grid, layout, ends);
    if (bin >= 0)
      pen.dot(places[bin + 1] ?? 0, high[bin + 1] ?? 0, 3, {
        colour: palette.text,
        ring: palette.paper,
      });
    // Elsewhere it would stand in the panel beside.
    const isAtEdge = layout.y2?.ticks.some(({ text }) => text !== '') ?? true;
    if (!isAtEdge && value === null) return;
    const top = layout.y.scale.at(x) - CHIP_HEIGHT + 2;
    const right = layout.frame.left + layout.frame.width;
    return drawChip(pen, chipOf(formatPlace(x, layout.format), right, top, palette), layout.size);
  }
  drawLitLine(pen, spread, at, grid, layout, ends, palette);
  if (bin < 0) return;
  const middle = ((grid[bin] ?? 0) + (grid[bin + 1] ?? 0)) / 2;
  const count = spread.rows[at * (grid.length - 1) + bin] ?? 0;
  const y = layout.y.scale.at(onAxis(count, ends));
  pen.dot(layout.x.scale.at(middle), y, 3.5, { colour: palette.text, ring: palette.paper });
}

function chipOf(text: string, x: number, top: number, { text: plate, paper: ink }: Palette) {
  return { text, x, top, ink, plate };
}

function drawRule(pen: Pen, x: number, { layout }: Panel, palette: Palette): void {
  const { frame } = layout;
  const at = crisp(layout.x.scale.at(x));
  const style = { colour: palette.rule, width: 1, dash: [3, 3] };
  pen.stroke(pathOf(at, frame.top, at, frame.top + frame.height), style);
  const top = frame.top + frame.height + 3;
  drawChip(pen, chipOf(formatPlace(x, layout.format), at, top, palette), layout.size);
}

function lightBands(pen: Pen, spread: Spread, at: number, panel: Panel, palette: Palette): void {
  drawRule(pen, spread.x[at] ?? 0, panel, palette);
  const { x, y } = panel.layout;
  const place = x.scale.at(spread.x[at] ?? 0);
  for (let number = 0; number < 9; number++) {
    const height = y.scale.at(spread.nine[at * 9 + number] ?? NaN);
    const radius = number === 4 ? 3.5 : 2;
    if (!Number.isNaN(height))
      pen.dot(place, height, radius, { colour: spread.colour, ring: palette.paper });
  }
}

function lightColumn(
  pen: Pen,
  x: number,
  bin: number,
  grid: Float64Array,
  panel: Panel,
  palette: Palette,
): void {
  drawRule(pen, x, panel, palette);
  if (bin < 0) return;
  const { x: across, y } = panel.layout;
  const [foot, top] = [y.scale.at(grid[bin] ?? 0), y.scale.at(grid[bin + 1] ?? 0)];
  const middle = across.scale.at(x);
  const path = pathOf(
    middle - 5,
    top,
    middle + 5,
    top,
    middle + 5,
    foot,
    middle - 5,
    foot,
    middle - 5,
    top,
  );
  pen.stroke(path, { colour: palette.text, width: 1.25 });
}

function drawBox(pen: Pen, box: Box, { accent }: Palette): void {
  pen.box(box, { colour: accent, opacity: 0.12 });
  const { left, top, width, height } = box;
  const [right, foot] = [left + width, top + height];
  const path = pathOf(left, top, right, top, right, foot, left, foot, left, top);
  pen.stroke(path, { colour: accent, width: 1 });
}
