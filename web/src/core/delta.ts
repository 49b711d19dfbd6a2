import type { RunChanges, RunRow } from '../api/types';
import { sortNatural } from '../base/natural';

export function inOrder(runs: Iterable<RunRow>): RunRow[] {
  return sortNatural(runs, (run) => run.name);
}

/** The list of runs after a change, in natural order. */
export function applyDelta(runs: readonly RunRow[], delta: RunChanges): RunRow[] {
  const gone = new Set(delta.removed);
  const news = new Map([...delta.added, ...delta.changed].map((run) => [run.name, run]));
  const kept = runs.filter((run) => !gone.has(run.name));
  const updated = kept.map((run) => news.get(run.name) ?? run);
  for (const run of kept) news.delete(run.name);
  // Most changes are points of runs that are already in their place.
  return news.size === 0 ? updated : inOrder([...updated, ...news.values()]);
}
