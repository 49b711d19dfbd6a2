import type { Size } from '../geometry/arrange';

/** Height of the line with the steps, and of the lines with the names of runs, in pixels. */
export const GRID_HEAD = 20;
export const GRID_CAPTION = 20;
export const GRID_GAP = 4;

const LOWEST = 56;
const HIGHEST = 180;
/** A step has to be read above each picture. */
const NARROWEST = 44;
/** How many steps there has to be room for: one alone shows nothing of how a picture came to be. */
const FEWEST = 4;

export interface GridCell extends Size {
  /** How many of them fit side by side. */
  readonly fitting: number;
}

/** Pictures as high as lets all runs and a few steps be seen, within reason. */
export function measureGrid(runs: number, aspect: number, place: Size): GridCell {
  const share = (place.height - GRID_HEAD) / Math.max(1, runs) - GRID_CAPTION - GRID_GAP;
  const widest = Math.max(NARROWEST, Math.floor((place.width + GRID_GAP) / FEWEST) - GRID_GAP);
  const height = Math.round(Math.max(LOWEST, Math.min(HIGHEST, share, widest / aspect)));
  const width = Math.round(Math.min(widest, Math.max(NARROWEST, height * aspect)));
  const fitting = Math.max(1, Math.floor((place.width + GRID_GAP) / (width + GRID_GAP)));
  return { width, height, fitting };
}
