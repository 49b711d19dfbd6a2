import type { Size } from '../../../charts/picture/layout';
import { type Axis, placesOn } from '../model/axis';
import { type Ink, LEVELS } from '../model/ink';

export interface PlacedAxis {
  readonly axis: Axis;
  readonly x: number;
}

/** Where the axes stand, and how far they reach. */
export interface Layout {
  readonly axes: readonly PlacedAxis[];
  readonly gap: number;
  readonly top: number;
  readonly foot: number;
  /** Where sessions without a value cross an axis. */
  readonly blank: number;
}

/** Room for titles above the axes. */
export const HEAD = 48;
const FOOT = 26;
const SIDE = 56;
/** Below its axis, a value that is not there. */
const BELOW = 15;
/** Axes closer together than this cannot be read; the picture scrolls instead. */
export const LEAST_GAP = 78;

export function widthFor(count: number): number {
  return 2 * SIDE + Math.max(0, count - 1) * LEAST_GAP;
}

export function layOut(axes: readonly Axis[], { width, height }: Size): Layout {
  const gap = axes.length > 1 ? (width - 2 * SIDE) / (axes.length - 1) : 0;
  const left = axes.length > 1 ? SIDE : width / 2;
  const foot = Math.max(HEAD + 20, height - FOOT);
  const placed = axes.map((axis, at) => ({ axis, x: left + at * gap }));
  return { axes: placed, gap, top: HEAD, foot, blank: foot + BELOW };
}

/** The pixel of a place on an axis. */
export function pixelOf({ top, foot }: Layout, place: number): number {
  return foot - place * (foot - top);
}

export function placeAt({ top, foot }: Layout, pixel: number): number {
  return Math.min(1, Math.max(0, (foot - pixel) / (foot - top)));
}

/**
 * For each axis the pixel of each session. Lines that meet in one of few values fan out, the better
 * ones above the others, so that none hides the rest.
 */
export function heightsOf(layout: Layout, { levels }: Ink): Float32Array[] {
  return layout.axes.map(({ axis }) => {
    const room = fanOf(axis, layout.foot - layout.top);
    return placesOn(axis).map((place, row) => {
      const share = (levels[row] ?? 0) / (LEVELS - 1) - 0.5;
      return (Number.isNaN(place) ? layout.blank : pixelOf(layout, place)) - share * room;
    });
  });
}

/** How far lines may fan out at a value of an axis, in pixels. */
function fanOf({ ticks, hasFew }: Axis, pixels: number): number {
  if (!hasFew) return 0;
  const places = ticks.map(({ place }) => place).sort((one, other) => one - other);
  const gaps = places.slice(1).map((place, at) => place - (places[at] ?? 0));
  return Math.min(WIDEST_FAN, 0.5 * pixels * Math.min(...gaps, 1));
}

const WIDEST_FAN = 18;

/** The session whose line is nearest to a place, if one is near enough. */
export function nearestRow(
  { axes, gap }: Layout,
  heights: readonly Float32Array[],
  rows: Int32Array,
  x: number,
  y: number,
): number | null {
  const first = axes[0]?.x ?? 0;
  const along = gap > 0 ? (x - first) / gap : 0;
  const at = Math.min(Math.max(0, Math.floor(along)), Math.max(0, axes.length - 2));
  const [from, to] = [heights[at], heights[at + 1] ?? heights[at]];
  if (!from || !to || along < -0.15 || along > axes.length - 0.85) return null;
  const share = Math.min(1, Math.max(0, along - at));
  let nearest: number | null = null;
  let least = NEAR;
  for (const row of rows) {
    const away = Math.abs((from[row] ?? NaN) * (1 - share) + (to[row] ?? NaN) * share - y);
    if (away < least) [nearest, least] = [row, away];
  }
  return nearest;
}

const NEAR = 9;
