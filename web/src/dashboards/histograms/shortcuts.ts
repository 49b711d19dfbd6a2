import type { Shortcut } from '../../plugin/context';
import type { Board } from './board.svelte';

type Key = Omit<Shortcut, 'group'>;

/** The keys that other walls do not have; returns how to take them back. */
export function registerKeys(board: Board): () => void {
  const { settings, kind } = board;
  const { look, bands, logCounts, logValues, zooms } = settings;
  const log = kind === 'histograms' ? logCounts : logValues;
  const ofHistograms: Key[] = [
    { keys: 'o', label: 'Offset', run: () => look.set('offset') },
    { keys: 'v', label: 'Overlay', run: () => look.set('overlay') },
    { keys: 'h', label: 'Heat map', run: () => look.set('heat') },
    { keys: 'y', label: 'Logarithmic counts', run: () => log.set(!log.value) },
  ];
  const ofDistributions: Key[] = [
    {
      keys: 'o',
      label: 'Runs in one chart',
      run: () => bands.set(bands.value === 'bands' ? 'together' : 'bands'),
    },
    { keys: 'y', label: 'Logarithmic values', run: () => log.set(!log.value) },
  ];
  const keys: Key[] = [
    ...(kind === 'histograms' ? ofHistograms : ofDistributions),
    { keys: 'z', label: 'Fit all charts', run: () => zooms.set(new Map()) },
  ];
  const group = board.about.title;
  const stops = keys.map((key) => board.context.keys.register({ ...key, group }));
  return () => stops.forEach((stop) => stop());
}
