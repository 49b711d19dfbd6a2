/** Menus of the run table, loaded when one is opened. */
import * as common from '../../catalog/common';
import * as m from '../../catalog/runs';
import { copyText } from '../../lib/browser';
import type { MenuItem } from '../../components/MenuItems.svelte';
import type { PageState } from '../../state/page-state.svelte';

export function copyNames(names: readonly string[]): void {
  void copyText(names.join('\n'));
}

/** Copy the log directories of runs. */
export function copyPaths(page: PageState, names: readonly string[]): void {
  void copyText(names.map((name) => getRunPath(page, name)).join('\n'));
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
  // The runs of a group of a large log are not known: they can be selected only.
  if (first.startsWith('/')) return [visibilityItems(page, names).slice(0, 2)];
  const only = names.length === 1 ? first : null;
  return [
    visibilityItems(page, names),
    openItems(page, only),
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
  const count = names.length;
  return [
    { label: m.menuOnly({ count }), hint: common.keyEnter, run: () => selectedRuns.solo(names) },
    {
      label: isSelected ? m.menuDeselect : m.menuSelect,
      hint: common.keySpace,
      run: () => selectedRuns.setSelected(names, !isSelected),
    },
    {
      label: isHidden ? m.menuUnhide : common.hide,
      run: () => void notes.updateRuns(names, { hidden: !isHidden }),
    },
  ];
}

function openItems({ url }: PageState, only: string | null): MenuItem[] {
  if (only === null) return [];
  const run = (): void => {
    url.set('tab', 'runs', 'push');
    url.set('rt-run', only, 'push');
  };
  return [{ label: m.menuOpenPage, run }];
}

function baselineItems({ runs }: PageState, only: string | null): MenuItem[] {
  if (only === null) return [];
  const isBaseline = runs.baseline === only;
  return [
    {
      label: m.menuBaseline,
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
    label: m.menuEdit,
    run: () => (runEditing.editing = names),
  };
  if (only === null) return [edit];
  return [{ label: m.menuRename, hint: 'F2', run: () => (runEditing.renaming = only) }, edit];
}

function copyItems(page: PageState, names: readonly string[]): MenuItem[] {
  const count = names.length;
  return [
    { label: m.menuCopyNames({ count }), run: () => copyNames(names) },
    { label: m.menuCopyPaths({ count }), run: () => copyPaths(page, names) },
  ];
}

/** Return the context menu of a column heading. */
export function columnMenu({ visibleColumns, runOrder }: PageState, key: string): MenuItem[][] {
  const keys = visibleColumns.selected;
  const index = keys.indexOf(key);
  return [
    [
      { label: common.sortAscending, run: () => runOrder.setSorting({ key, descending: false }) },
      { label: common.sortDescending, run: () => runOrder.setSorting({ key, descending: true }) },
    ],
    [
      { label: common.moveLeft, disabled: index === 0, run: () => visibleColumns.move(key, -1) },
      {
        label: common.moveRight,
        disabled: index === keys.length - 1,
        run: () => visibleColumns.move(key, 1),
      },
      { label: m.columnRemove, run: () => visibleColumns.remove(key) },
    ],
  ];
}
