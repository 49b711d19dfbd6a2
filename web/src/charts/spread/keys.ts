import type { Point } from '../pen/pen';
import { binAt } from './find';
import type { PanelSet } from './panels';
import { isBands, isFlat, type SpreadContent, type SpreadMode, type SpreadSpot } from './types';

export interface Move {
  readonly spot: SpreadSpot;
  /** Where what is said of it belongs, in pixels of the chart. */
  readonly at: Point;
}

type Arrow = readonly [steps: number, bins: number];

/** What arrow keys do where values lie along the foot: up is back in time, as the eye sees it. */
const FLAT: Readonly<Record<string, Arrow>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};
const UPRIGHT: Readonly<Record<string, Arrow>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowDown: [0, -1],
  ArrowUp: [0, 1],
};

/** The histogram or bin that a key leads to; null for keys that lead nowhere. */
export function moveSpot(
  key: string,
  content: SpreadContent,
  set: PanelSet,
  mode: SpreadMode,
  spot: SpreadSpot | null,
): Move | null {
  const arrow = (isFlat(mode) ? FLAT : UPRIGHT)[key];
  const isEnd = key === 'Home' || key === 'End';
  const number = spot?.spread ?? 0;
  const spread = content.spreads[number];
  if ((!arrow && !isEnd) || !spread || spread.x.length === 0) return null;
  const last = spread.x.length - 1;
  const [steps, bins] = arrow ?? [0, 0];
  const from = spot?.at ?? last;
  const wanted = key === 'Home' ? 0 : key === 'End' ? last : from + (spot ? steps : 0);
  const at = Math.min(last, Math.max(0, wanted));
  const value = nextValue(content, mode, spot, bins);
  const moved = { spread: number, at, value };
  return { spot: moved, at: pixelOf(content, set, mode, moved) };
}

function nextValue(
  { grid }: SpreadContent,
  mode: SpreadMode,
  spot: SpreadSpot | null,
  by: number,
): number | null {
  if (isBands(mode) || grid.length < 2) return null;
  const bins = grid.length - 1;
  const now = spot?.value ?? null;
  const bin = now === null ? bins >> 1 : Math.min(bins - 1, Math.max(0, binAt(grid, now) + by));
  return ((grid[bin] ?? 0) + (grid[bin + 1] ?? 0)) / 2;
}

function pixelOf(
  { spreads }: SpreadContent,
  { panels }: PanelSet,
  mode: SpreadMode,
  { spread, at, value }: SpreadSpot,
): Point {
  const panel = panels.find((panel) => panel.spreads.includes(spread)) ?? panels[0];
  if (!panel) return { x: 0, y: 0 };
  const { x, y, frame } = panel.layout;
  const step = spreads[spread]?.x[at] ?? 0;
  if (!isFlat(mode))
    return { x: x.scale.at(step), y: value === null ? frame.top + 20 : y.scale.at(value) };
  return { x: x.scale.at(value ?? 0), y: mode === 'offset' ? y.scale.at(step) : frame.top + 20 };
}
