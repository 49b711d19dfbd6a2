import type { Size } from '../geometry/arrange';

/** Height of the line with the steps, and of the lines with the names of runs, in pixels. */
export const GRID_HEAD = 20;
export const GRID_CAPTION = 20;
export const GRID_GAP = 4;

const LOWEST = 56;
const HIGHEST = 180;
/** A step has to be read above each picture. */
const NARROWEST = 44;

export interface GridCell extends Size {
  /** How many of them fit side by side. */
  readonly fitting: number;
}

/** Pictures as high as lets all runs be seen, within reason. */
export function measureGrid(runs: number, aspect: number, place: Size): GridCell {
  const share = (place.height - GRID_HEAD) / Math.max(1, runs) - GRID_CAPTION - GRID_GAP;
  const height = Math.round(Math.min(HIGHEST, Math.max(LOWEST, share)));
  const widest = Math.max(NARROWEST, place.width / 2);
  const width = Math.round(Math.min(widest, Math.max(NARROWEST, height * aspect)));
  const fitting = Math.max(1, Math.floor((place.width + GRID_GAP) / (width + GRID_GAP)));
  return { width, height, fitting };
}
