import type { SpreadMode } from '../../../charts/spread/types';

/** A small chart can still be read when it is so large, in pixels. */
const LEAST_WIDTH = 112;
const LEAST_HEIGHT = 72;
const MOST = 16;
/** Where runs share a chart, more of them would hide each other. */
const MOST_TOGETHER = 12;

/** For how many runs a chart has room. */
export function roomFor(mode: SpreadMode, width: number, height: number): number {
  if (mode === 'together') return MOST_TOGETHER;
  const [columns, rows] = [Math.floor(width / LEAST_WIDTH), Math.floor(height / LEAST_HEIGHT)];
  return Math.max(1, Math.min(MOST, columns * rows));
}

const HEAD = 34;
const PROPORTION = 0.64;
/** What is added to the height, in parts of the width, where several runs have charts. */
const FOR_FEW = 0.12;
const FOR_MANY = 0.3;

/** How high a card of a width is, in pixels. */
export function heightFor(width: number, runs: number): number {
  const more = runs > 4 ? FOR_MANY : runs > 1 ? FOR_FEW : 0;
  return Math.round(HEAD + width * (PROPORTION + more));
}
