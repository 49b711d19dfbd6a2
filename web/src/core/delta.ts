import type { RunChanges, RunRow } from '../api/types';
import { sortNatural } from '../base/natural';

export function inOrder(runs: Iterable<RunRow>): RunRow[] {
  return sortNatural(runs, (run) => run.name);
}

/** The list of runs after a change, in natural order. */
export function applyDelta(runs: readonly RunRow[], delta: RunChanges): RunRow[] {
  const known = new Map(runs.map((run) => [run.name, run]));
  for (const name of delta.removed) known.delete(name);
  for (const run of [...delta.added, ...delta.changed]) known.set(run.name, run);
  return inOrder(known.values());
}
