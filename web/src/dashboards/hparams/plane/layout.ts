import type { Box } from '../../../charts/pen/pen';
import type { Size } from '../../../charts/picture/layout';

/** The part of a chart that points are in; what is around it is for words. */
export function frameOf({ width, height }: Size, hasWords: boolean): Box {
  const [left, top, right, foot] = hasWords ? [52, 10, 12, 24] : [5, 5, 5, 5];
  return {
    left,
    top,
    width: Math.max(1, width - left - right),
    height: Math.max(1, height - top - foot),
  };
}

export function acrossOf({ left, width }: Box, place: number): number {
  return left + place * width;
}

export function downOf({ top, height }: Box, place: number): number {
  return top + (1 - place) * height;
}

/** The place of a pixel, kept on the plane. */
export function placeIn(frame: Box, x: number, y: number): { x: number; y: number } {
  const clamp = (place: number): number => Math.min(1, Math.max(0, place));
  return {
    x: clamp((x - frame.left) / frame.width),
    y: clamp(1 - (y - frame.top) / frame.height),
  };
}

/** Where sessions stand on a plane, both from 0 to 1; NaN where a value is missing. */
export interface Places {
  readonly x: Float32Array;
  readonly y: Float32Array;
}

const NEAR = 14;

/** The session nearest to a pixel, if one is near enough. */
export function nearestDot(
  { x, y }: Places,
  frame: Box,
  rows: Int32Array,
  atX: number,
  atY: number,
): number | null {
  let nearest: number | null = null;
  let least = NEAR * NEAR;
  for (const row of rows) {
    const across = acrossOf(frame, x[row] ?? NaN) - atX;
    const down = downOf(frame, y[row] ?? NaN) - atY;
    const away = across * across + down * down;
    // Of those at the same place the one drawn last is seen.
    if (away <= least) [nearest, least] = [row, away];
  }
  return nearest;
}
