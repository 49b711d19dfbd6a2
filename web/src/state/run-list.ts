import { parseTimestamp } from '../api/decode';
import type { DeltaEvent, RunRow } from '../api/schemas';
import { sortNatural } from '../lib/sorting';

export function sortRuns(runs: Iterable<RunRow>): RunRow[] {
  return sortNatural(runs, (run) => run.name);
}

/** The list of runs after a change, in natural order. */
export function applyDelta(
  runs: readonly RunRow[],
  delta: Pick<DeltaEvent, 'added' | 'removed' | 'changed'>,
): RunRow[] {
  const gone = new Set(delta.removed);
  const news = new Map([...delta.added, ...delta.changed].map((run) => [run.name, run]));
  const kept = runs.filter((run) => !gone.has(run.name));
  const updated = kept.map((run) => news.get(run.name) ?? run);
  for (const run of kept) news.delete(run.name);
  // Most changes are points of runs that are already in their place.
  return news.size === 0 ? updated : sortRuns([...updated, ...news.values()]);
}

export interface RunTotals {
  readonly points: number;
  readonly damaged: number;
  /** When the writers say that the last point was logged. */
  readonly lastPoint: Date | null;
}

export function computeRunTotals(runs: readonly RunRow[]): RunTotals {
  let points = 0;
  let damaged = 0;
  let lastPoint: Date | null = null;
  for (const run of runs) {
    points += run.points;
    damaged += run.damaged;
    const last = parseTimestamp(run.last_wall);
    if (last && (!lastPoint || last > lastPoint)) lastPoint = last;
  }
  return { points, damaged, lastPoint };
}
