import { keys } from '../../core/keys.svelte';
import { selection } from '../../core/runs/selection.svelte';

/** Keys that work wherever the focus is. Returns how to take them back. */
export function registerKeys(focusFilter: () => void): () => void {
  const shortcuts = [
    { keys: '/', label: 'Filter runs', run: focusFilter },
    {
      keys: 'Shift+A',
      label: 'Tick all runs that are found',
      run: () => selection.tickFound(true),
    },
    { keys: 'Shift+N', label: 'Tick none of them', run: () => selection.tickFound(false) },
    { keys: 'Shift+I', label: 'Invert the ticks', run: () => selection.invert() },
  ];
  const stops = shortcuts.map((shortcut) => keys.registerForPage({ ...shortcut, group: 'Runs' }));
  return () => stops.forEach((stop) => stop());
}
