import type { MenuItem } from '../../components/menu';
import { formatPlural } from '../../lib/format';
import { liveLog } from '../../state/live-log.svelte';
import { notes } from '../../state/notes.svelte';
import { visibleColumns } from '../../state/runs/run-columns.svelte';
import { runEntries, runOrder } from '../../state/runs/run-entries.svelte';
import { runs } from '../../state/runs/runs.svelte';
import { selectedRuns } from '../../state/runs/visible-runs.svelte';

/** What is being written about runs, one thing at a time. */
class RunEditing {
  /** The run whose name is being typed in its place. */
  renaming = $state.raw<string | null>(null);
  /** The runs of which note, labels and colour are looked at. */
  editing = $state.raw<readonly string[] | null>(null);
}

export const runEditing = new RunEditing();

export function copyNames(names: readonly string[]): void {
  copyText(names.join('\n'));
}

/** The folders that the runs were logged to. */
export function copyPaths(names: readonly string[]): void {
  copyText(names.map(runPath).join('\n'));
}

/** Browsers have no clipboard for pages from another machine without encryption; but they copy. */
function copyText(text: string): void {
  if (navigator.clipboard)
    void navigator.clipboard.writeText(text).catch(() => copyWithTextarea(text));
  else copyWithTextarea(text);
}

function copyWithTextarea(text: string): void {
  const box = document.createElement('textarea');
  const before = document.activeElement;
  box.value = text;
  document.body.append(box);
  box.select();
  document.execCommand('copy');
  box.remove();
  if (before instanceof HTMLElement) before.focus();
}

/** With several roots the name of a run begins with the one of its root. */
function runPath(run: string): string {
  const roots = liveLog.serverInfo?.roots ?? [];
  const root = roots.find(({ name }) => name && (run === name || run.startsWith(`${name}/`)));
  const [first] = roots;
  if (root) return joinPath(root.path, run.slice(root.name.length + 1));
  return first ? joinPath(first.path, run) : run;
}

function joinPath(folder: string, name: string): string {
  return name === '' || name === '.' ? folder : `${folder.replace(/\/+$/, '')}/${name}`;
}

/** What can be done with some runs, in groups for a menu. */
export function runMenu(names: readonly string[]): MenuItem[][] {
  const [first] = names;
  if (first === undefined) return [];
  const only = names.length === 1 ? first : null;
  return [
    visibilityItems(names),
    baselineItems(only),
    editItems(names, only),
    copyItems(names),
  ].filter((items) => items.length > 0);
}

function visibilityItems(names: readonly string[]): MenuItem[] {
  const isHidden = names.every((name) => runEntries.byName.get(name)?.userNote.hidden);
  const isTicked = names.every((name) => selectedRuns.isSelected(name));
  return [
    {
      label: `Show only ${describeRuns(names)}`,
      hint: 'Enter',
      run: () => selectedRuns.solo(names),
    },
    {
      label: isTicked ? 'Untick' : 'Tick',
      hint: 'Space',
      run: () => selectedRuns.setSelected(names, !isTicked),
    },
    {
      label: isHidden ? 'Hide no longer' : 'Hide from the table',
      run: () => void notes.updateRuns(names, { hidden: !isHidden }),
    },
  ];
}

function baselineItems(only: string | null): MenuItem[] {
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

function editItems(names: readonly string[], only: string | null): MenuItem[] {
  const describe: MenuItem = {
    label: 'Note, labels, colour …',
    run: () => (runEditing.editing = names),
  };
  if (only === null) return [describe];
  return [{ label: 'Rename', hint: 'F2', run: () => (runEditing.renaming = only) }, describe];
}

function copyItems(names: readonly string[]): MenuItem[] {
  const many = names.length > 1;
  return [
    { label: many ? 'Copy names' : 'Copy name', run: () => copyNames(names) },
    { label: many ? 'Copy paths' : 'Copy path', run: () => copyPaths(names) },
  ];
}

function describeRuns(names: readonly string[]): string {
  return names.length === 1 ? 'this run' : `these ${formatPlural(names.length, 'run')}`;
}

export function columnMenu(key: string): MenuItem[][] {
  const { keys } = visibleColumns;
  const place = keys.indexOf(key);
  return [
    [
      { label: 'Lowest first', run: () => runOrder.setSorting({ key, descending: false }) },
      { label: 'Highest first', run: () => runOrder.setSorting({ key, descending: true }) },
    ],
    [
      { label: 'Move left', disabled: place === 0, run: () => visibleColumns.move(key, -1) },
      {
        label: 'Move right',
        disabled: place === keys.length - 1,
        run: () => visibleColumns.move(key, 1),
      },
      { label: 'Remove', run: () => visibleColumns.remove(key) },
    ],
  ];
}
