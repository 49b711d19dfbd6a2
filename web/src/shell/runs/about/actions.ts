import { plural } from '../../../base/format';
import { notes } from '../../../core/notes.svelte';
import { entries } from '../../../core/runs/entries.svelte';
import { runs } from '../../../core/runs/runs.svelte';
import { selection } from '../../../core/runs/selection.svelte';
import type { MenuItem } from '../../../widgets/menu';
import { copyNames, copyPaths } from './copying';
import { editing } from './editing.svelte';

/** What can be done with some runs, in groups for a menu. */
export function actionsFor(names: readonly string[]): MenuItem[][] {
  const [first] = names;
  if (first === undefined) return [];
  const only = names.length === 1 ? first : null;
  return [showing(names), comparing(only), telling(names, only), copying(names)].filter(
    (items) => items.length > 0,
  );
}

function showing(names: readonly string[]): MenuItem[] {
  const isHidden = names.every((name) => entries.byName.get(name)?.said.hidden);
  const isTicked = names.every((name) => selection.isTicked(name));
  return [
    { label: `Show only ${these(names)}`, hint: 'Enter', run: () => selection.solo(names) },
    {
      label: isTicked ? 'Untick' : 'Tick',
      hint: 'Space',
      run: () => selection.tick(names, !isTicked),
    },
    {
      label: isHidden ? 'Hide no longer' : 'Hide from the table',
      run: () => void notes.changeRuns(names, { hidden: !isHidden }),
    },
  ];
}

function comparing(only: string | null): MenuItem[] {
  if (only === null) return [];
  const isBaseline = runs.baseline === only;
  return [
    {
      label: 'Baseline for comparisons',
      checked: isBaseline,
      run: () => runs.setBaseline(isBaseline ? null : only),
    },
  ];
}

function telling(names: readonly string[], only: string | null): MenuItem[] {
  const describe: MenuItem = {
    label: 'Note, labels, colour …',
    run: () => (editing.describing = names),
  };
  if (only === null) return [describe];
  return [{ label: 'Rename', hint: 'F2', run: () => (editing.renaming = only) }, describe];
}

function copying(names: readonly string[]): MenuItem[] {
  const many = names.length > 1;
  return [
    { label: many ? 'Copy names' : 'Copy name', run: () => copyNames(names) },
    { label: many ? 'Copy paths' : 'Copy path', run: () => copyPaths(names) },
  ];
}

function these(names: readonly string[]): string {
  return names.length === 1 ? 'this run' : `these ${plural(names.length, 'run')}`;
}
