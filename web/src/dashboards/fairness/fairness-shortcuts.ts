import * as m from '../../catalog/fairness';
import type { Shortcut } from '../../plugin/context';
import { FAIRNESS_VIEWS } from './fairness-settings';
import type { FairnessState } from './fairness-state.svelte';

/** Register the keys of the dashboard; returns how to remove them. */
export function registerFairnessShortcuts(board: FairnessState): () => void {
  const { view } = board.settings;
  const move = (by: 1 | -1): void => {
    const at = FAIRNESS_VIEWS.indexOf(view.value) + by;
    const next = FAIRNESS_VIEWS[(at + FAIRNESS_VIEWS.length) % FAIRNESS_VIEWS.length];
    if (next) view.set(next, 'push');
  };
  const step = (by: 1 | -1): void => {
    const { evaluation, evaluations } = board;
    const same = evaluations.filter(
      ({ run, tag }) => run === evaluation?.run && tag === evaluation.tag,
    );
    // The list starts with the last step.
    const next = same[same.findIndex(({ id }) => id === evaluation?.id) - by];
    if (next) board.settings.evaluation.set(next.id, 'push');
  };
  const shortcuts: readonly Omit<Shortcut, 'group'>[] = [
    { keys: 'v', label: m.nextView, run: () => move(1) },
    { keys: 'Shift+V', label: m.previousView, run: () => move(-1) },
    { keys: ',', label: m.previousStep, run: () => step(-1) },
    { keys: '.', label: m.nextStep, run: () => step(1) },
  ];
  const stops = shortcuts.map((shortcut) =>
    board.context.shortcuts.register({ ...shortcut, group: m.title }),
  );
  return () => stops.forEach((stop) => stop());
}
