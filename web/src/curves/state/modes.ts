import type { Center, Spread } from '../../api/scalars';
import type { Runs } from '../../plugin/context';
import type { Mode, Settings } from './settings';

export const SPREADS: Readonly<Record<Spread, string>> = {
  std: '± std',
  stderr: '± std error',
  ci95: '± 95 % CI',
  minmax: 'min – max',
};

export function bandName(center: Center, spread: Spread): string {
  return `${center === 'mean' ? 'Mean' : 'Median'} ${SPREADS[spread]}`;
}

/** A comparison needs something to compare with: the first run, until another is chosen. */
export function chooseMode(mode: Mode, settings: Settings, runs: Runs): void {
  const first = runs.shown[0];
  if (mode === 'baseline' && runs.baseline === null && first) runs.setBaseline(first.name);
  settings.mode.set(mode, 'push');
}
