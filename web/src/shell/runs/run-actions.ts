import type { MenuItem } from '../../components/menu';
import { formatPlural } from '../../lib/format';
import type { PageState } from '../../state/page-state.svelte';
import { copyText } from '../clipboard';

export function copyNames(names: readonly string[]): void {
  copyText(names.join('\n'));
}

/** Copy the log directories of runs. */
export function copyPaths(page: PageState, names: readonly string[]): void {
  copyText(names.map((name) => getRunPath(page, name)).join('\n'));
}

/** With several log directories the name of a run begins with the name of its directory. */
function getRunPath({ liveLog }: PageState, run: string): string {
  const roots = liveLog.serverInfo?.roots ?? [];
  const root = roots.find(({ name }) => name && (run === name || run.startsWith(`${name}/`)));
  const [first] = roots;
  if (root) return joinPath(root.path, run.slice(root.name.length + 1));
  return first ? joinPath(first.path, run) : run;
}

function joinPath(folder: string, name: string): string {
  return name === '' || name === '.' ? folder : `${folder.replace(/\/+$/, '')}/${name}`;
}

/** Return the context menu of runs. */
export function runMenu(page: PageState, names: readonly string[]): MenuItem[][] {
  const [first] = names;
  if (first === undefined) return [];
  const only = names.length === 1 ? first : null;
  return [
    visibilityItems(page, names),
    baselineItems(page, only),
    editItems(page, names, only),
    copyItems(page, names),
  ].filter((items) => items.length > 0);
}

function visibilityItems(
  { runEntries, selectedRuns, notes }: PageState,
  names: readonly string[],
): MenuItem[] {
  const isHidden = names.every((name) => runEntries.byName.get(name)?.userNote.hidden);
  const isSelected = names.every((name) => selectedRuns.isSelected(name));
  const target = names.length === 1 ? 'this run' : `these ${formatPlural(names.length, 'run')}`;
  return [
    { label: `Show only ${target}`, hint: 'Enter', run: () => selectedRuns.solo(names) },
    {
      label: isSelected ? 'Deselect' : 'Select',
      hint: 'Space',
      run: () => selectedRuns.setSelected(names, !isSelected),
    },
    {
      label: isHidden ? 'Unhide' : 'Hide',
      run: () => void notes.updateRuns(names, { hidden: !isHidden }),
    },
  ];
}

function baselineItems({ runs }: PageState, only: string | null): MenuItem[] {
  if (only === null) return [];
  const isBaseline = runs.baseline === only;
  return [
    {
      label: 'Use as baseline',
      checked: isBaseline,
      run: () => runs.setBaseline(isBaseline ? null : only),
    },
  ];
}

function editItems(
  { runEditing }: PageState,
  names: readonly string[],
  only: string | null,
): MenuItem[] {
  const edit: MenuItem = {
    label: 'Edit notes, tags, color…',
    run: () => (runEditing.editing = names),
  };
  if (only === null) return [edit];
  return [{ label: 'Rename', hint: 'F2', run: () => (runEditing.renaming = only) }, edit];
}

function copyItems(page: PageState, names: readonly string[]): MenuItem[] {
  const isSingle = names.length === 1;
  return [
    { label: isSingle ? 'Copy name' : 'Copy names', run: () => copyNames(names) },
    { label: isSingle ? 'Copy path' : 'Copy paths', run: () => copyPaths(page, names) },
  ];
}

/** Return the context menu of a column heading. */
export function columnMenu({ visibleColumns, runOrder }: PageState, key: string): MenuItem[][] {
  const keys = visibleColumns.selected;
  const index = keys.indexOf(key);
  return [
    [
      { label: 'Sort ascending', run: () => runOrder.setSorting({ key, descending: false }) },
      { label: 'Sort descending', run: () => runOrder.setSorting({ key, descending: true }) },
    ],
    [
      { label: 'Move left', disabled: index === 0, run: () => visibleColumns.move(key, -1) },
      {
        label: 'Move right',
        disabled: index === keys.length - 1,
        run: () => visibleColumns.move(key, 1),
      },
      { label: 'Remove column', run: () => visibleColumns.remove(key) },
    ],
  ];
}
