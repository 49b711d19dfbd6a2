import type { ChartsView } from '../api/scalar-schemas';
import type { RunGroup } from '../api/schemas';
import { requestedRuns } from '../cards/card-sections';
import type { Runs } from '../plugin/context';
import type { ScalarSettings } from './scalar-settings';

/** The key of the one group there is while runs are not grouped. */
export const ALL_RUNS_GROUP = '';

/** What all charts of the view ask for. */
export function createViewRequest(settings: ScalarSettings, runs: Runs): ChartsView {
  const mode = settings.mode.value;
  const names = runs.visible.map(({ name }) => name);
  const baseline =
    mode === 'baseline' && runs.baseline !== null
      ? { run: runs.baseline, mode: settings.comparison.value }
      : null;
  return {
    runs: requestedRuns(runs),
    x: settings.x.value,
    smoothing: settings.smoothing.value,
    overwritten: settings.overwritten.value,
    baseline,
    groups: mode === 'bands' ? requestGroups(runs, names) : null,
    center: settings.center.value,
    band: settings.spread.value,
  };
}

function requestGroups(runs: Runs, names: readonly string[]): RunGroup[] {
  if (runs.groups.length === 0) return [{ key: ALL_RUNS_GROUP, runs: names }];
  return runs.groups.map(({ key, runs }) => ({ key, runs }));
}
