import { readTime } from '../api/numbers';
import type { RunRow } from '../api/types';

export interface Totals {
  readonly points: number;
  readonly damaged: number;
  /** When the writers say that the last point was logged. */
  readonly lastPoint: Date | null;
}

export function sumUp(runs: readonly RunRow[]): Totals {
  let points = 0;
  let damaged = 0;
  let lastPoint: Date | null = null;
  for (const run of runs) {
    points += run.points;
    damaged += run.damaged;
    const last = readTime(run.last_wall);
    if (last && (!lastPoint || last > lastPoint)) lastPoint = last;
  }
  return { points, damaged, lastPoint };
}
