import type { Shortcut } from '../../plugin/context';
import { TITLES, VIEWS } from './state/settings';
import type { Study } from './study.svelte';

/** The keys of the dashboard; returns how to take them back. */
export function registerKeys(study: Study): () => void {
  const { view, panel } = study.settings;
  const step = (by: number): void => {
    const at = VIEWS.indexOf(view.value);
    const next = VIEWS[(at + by + VIEWS.length) % VIEWS.length];
    if (next) view.set(next, 'push');
  };
  const keys: Omit<Shortcut, 'group'>[] = [
    { keys: 'v', label: `Next view (${TITLES.table}, ${TITLES.parallel}, …)`, run: () => step(1) },
    { keys: 'Shift+V', label: 'View before', run: () => step(-1) },
    { keys: 'f', label: 'Filters', run: () => panel.set(!panel.value) },
    { keys: 'z', label: 'Clear all filters', run: () => study.clearRules() },
  ];
  const stops = keys.map((key) => study.context.keys.register({ ...key, group: 'HParams' }));
  return () => stops.forEach((stop) => stop());
}
