import type { Keys, Shortcut } from '../../../plugin/context';
import type { Looking } from './looking.svelte';

export interface ViewerActs {
  compare(): void;
  movePart(by: 1 | -1): void;
}

/** The keys while one card is over all others; returns how to take them back. */
export function registerViewerKeys(keys: Keys, looking: Looking, acts: ViewerActs): () => void {
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: '+', label: 'Zoom in', run: () => looking.zoomBy(1) },
    { keys: '=', label: 'Zoom in', run: () => looking.zoomBy(1) },
    { keys: '-', label: 'Zoom out', run: () => looking.zoomBy(-1) },
    { keys: '0', label: 'All of the picture', run: () => looking.showAll() },
    { keys: '1', label: 'Actual size', run: () => looking.showActual() },
    { keys: 'c', label: 'Compare two pictures, and back', run: () => acts.compare() },
    { keys: '[', label: 'Previous picture of the step', run: () => acts.movePart(-1) },
    { keys: ']', label: 'Next picture of the step', run: () => acts.movePart(1) },
  ];
  const stops = shortcuts.map((shortcut) => keys.register({ ...shortcut, group: 'Pictures' }));
  return () => stops.forEach((stop) => stop());
}
