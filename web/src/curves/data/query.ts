import type { GroupAsk, ViewAsk } from '../../api/scalars';
import type { Runs } from '../../plugin/context';
import { askedRuns } from '../../wall/asked-runs';
import type { Settings } from '../state/settings';

/** The key of the one group there is while runs are not grouped. */
export const EVERYTHING = '';

/** What all charts of the view ask for. */
export function viewAsk(settings: Settings, runs: Runs): ViewAsk {
  const mode = settings.mode.value;
  const names = runs.shown.map(({ name }) => name);
  const baseline =
    mode === 'baseline' && runs.baseline !== null
      ? { run: runs.baseline, mode: settings.comparison.value }
      : null;
  return {
    runs: askedRuns(runs),
    x: settings.x.value,
    smoothing: settings.smoothing.value,
    overwritten: settings.overwritten.value,
    baseline,
    groups: mode === 'bands' ? groupsOf(runs, names) : null,
    center: settings.center.value,
    band: settings.spread.value,
  };
}

function groupsOf(runs: Runs, names: readonly string[]): GroupAsk[] {
  if (runs.groups.length === 0) return [{ key: EVERYTHING, runs: names }];
  return runs.groups.map(({ key, runs }) => ({ key, runs }));
}
