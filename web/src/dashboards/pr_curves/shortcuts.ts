import type { Command, Shortcut } from '../../plugin/context';
import { nextThreshold } from './curve/curve';
import type { PrCurves } from './pr-curves.svelte';

/** The keys that other walls do not have; returns how to take them back. */
export function registerKeys(wall: PrCurves): () => void {
  const group = wall.about.title;
  const stops = keysOf(wall).map((key) => wall.context.keys.register({ ...key, group }));
  return () => stops.forEach((stop) => stop());
}

function keysOf(wall: PrCurves): Omit<Shortcut, 'group'>[] {
  const { settings, pointer } = wall;
  const { axes, grouping, tables, zooms, threshold } = settings;
  const move = (direction: 1 | -1) => (): void => {
    if (threshold.value === null || !pointer.pinned) return;
    const next = nextThreshold(pointer.pinned.card.curves, threshold.value, direction);
    if (next !== null) wall.pin(next);
  };
  return [
    {
      keys: 'o',
      label: 'PR or ROC curves',
      run: () => axes.set(axes.value === 'PR' ? 'ROC' : 'PR'),
    },
    {
      keys: 'c',
      label: 'Runs or classes in one chart',
      run: () => grouping.set(grouping.value === 'runs' ? 'classes' : 'runs', 'push'),
    },
    { keys: 'd', label: 'Table of counts', run: () => tables.set(!tables.value) },
    { keys: 'z', label: 'Fit all charts', run: () => zooms.set(new Map()) },
    { keys: ',', label: 'Pinned threshold to the one below', run: move(-1) },
    { keys: '.', label: 'Pinned threshold to the one above', run: move(1) },
  ];
}

/** What the command box finds here. */
export function registerCommands({ settings, context }: PrCurves): () => void {
  const { axes, grouping, tables, hasLevels, hasHistory } = settings;
  const actions: readonly Omit<Command, 'kind'>[] = [
    { label: 'Show PR curves', run: () => axes.set('PR') },
    { label: 'Show ROC curves', run: () => axes.set('ROC') },
    { label: 'Compare runs in one chart', run: () => grouping.set('runs', 'push') },
    { label: 'Compare classes in one chart', run: () => grouping.set('classes', 'push') },
    { label: 'Table of counts', hint: 'd', run: () => tables.set(!tables.value) },
    { label: 'Lines of equal F1', run: () => hasLevels.set(!hasLevels.value) },
    { label: 'Chart over steps', run: () => hasHistory.set(!hasHistory.value) },
  ];
  return context.commands.register((query) => {
    const words = query.toLowerCase();
    return actions
      .filter(({ label }) => label.toLowerCase().includes(words))
      .map((action) => ({ ...action, kind: 'Action' }));
  });
}
