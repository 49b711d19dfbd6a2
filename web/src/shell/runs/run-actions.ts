/** Menus, keyboard shortcuts and commands of the run table. */
import * as common from '../../catalog/common';
import * as m from '../../catalog/runs';
import type { MenuItem } from '../../components/menu';
import { groupingCodec } from '../../lib/grouping';
import type { Command } from '../../plugin/context';
import type { PageState } from '../../state/page-state.svelte';
import { copyText } from '../../components/clipboard';

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

// ---- keyboard

/** Register shortcuts that work anywhere on the page; return a function that removes them. */
export function registerRunShortcuts(
  { shortcuts, selectedRuns }: PageState,
  focusFilter: () => void,
): () => void {
  const group = common.runs;
  const stops = [
    { keys: '/', label: m.filterLabel, run: focusFilter },
    {
      keys: 'Shift+A',
      label: m.headSelectAll,
      run: () => selectedRuns.setMatchingSelected(true),
    },
    {
      keys: 'Shift+N',
      label: m.commandDeselectAll,
      run: () => selectedRuns.setMatchingSelected(false),
    },
    { keys: 'Shift+I', label: m.commandInvert, run: () => selectedRuns.invert() },
  ].map((shortcut) => shortcuts.registerForPage({ ...shortcut, group }));
  return () => stops.forEach((stop) => stop());
}

const PAGE_ROWS = 20;

/** Handle a key while the table has the focus; return false for keys without a meaning there. */
export function handleTableKey(page: PageState, event: KeyboardEvent): boolean {
  // Keys of buttons and inputs inside of the table belong to them.
  if (event.target !== event.currentTarget || event.altKey) return false;
  const { rowSelection, runTable } = page;
  if (event.ctrlKey || event.metaKey) {
    if (event.key.toLowerCase() !== 'a') return false;
    rowSelection.selectAll();
    return true;
  }
  const index = getTargetIndex(page, event.key);
  if (index === null) return handleRowKey(page, event.key);
  rowSelection.moveTo(
    Math.min(runTable.rows.length - 1, Math.max(0, index)),
    event.shiftKey ? 'range' : 'replace',
  );
  return true;
}

export function isMenuKey({ key, shiftKey }: KeyboardEvent): boolean {
  return key === 'ContextMenu' || (key === 'F10' && shiftKey);
}

function getTargetIndex({ rowSelection, runTable }: PageState, key: string): number | null {
  const { activeIndex } = rowSelection;
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: activeIndex + 1,
    ArrowUp: activeIndex - 1,
    PageDown: activeIndex + PAGE_ROWS,
    PageUp: activeIndex - PAGE_ROWS,
    Home: 0,
    End: runTable.rows.length - 1,
  };
  return targets[key] ?? null;
}

function handleRowKey(page: PageState, key: string): boolean {
  const { rowSelection, selectedRuns, runEditing, runGroups } = page;
  const row = rowSelection.activeRow;
  if (key === 'Escape') rowSelection.clear();
  else if (!row) return false;
  else if (key === ' ') {
    const names = rowSelection.namesFor(row);
    selectedRuns.setSelected(names, !names.every((name) => selectedRuns.isSelected(name)));
  } else if (key === 'Enter') selectedRuns.solo(rowSelection.namesFor(row));
  else if (key === 'F2' && row.kind === 'run') runEditing.renaming = row.name;
  else if (key === 'ArrowLeft') collapseOrMoveToGroup(page);
  else if (key === 'ArrowRight' && row.kind === 'group') runGroups.setCollapsed(row.key, false);
  else return false;
  return true;
}

/** Move from a run to the header of its group, and collapse the group from there. */
function collapseOrMoveToGroup({ rowSelection, runGroups, runTable }: PageState): void {
  const { activeIndex, activeRow } = rowSelection;
  if (activeRow?.kind === 'group') runGroups.setCollapsed(activeRow.key, true);
  else if (runTable.isTree)
    rowSelection.moveTo(
      runTable.rows.findLastIndex((row, index) => index < activeIndex && row.kind === 'group'),
    );
}

// ---- command palette

const MAX_COMMANDS = 6;

/** Add the actions of the table to the command palette; return a function that removes them. */
export function registerRunCommands(page: PageState): () => void {
  return page.commands.register((query) => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    return [...selectionCommands(page), ...hparamCommands(page), ...metricCommands(page)]
      .filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
      .slice(0, MAX_COMMANDS);
  });
}

function selectionCommands({ selectedRuns, runGroups }: PageState): Command[] {
  return [
    makeCommand(m.headSelectAll, () => selectedRuns.setMatchingSelected(true)),
    makeCommand(m.commandDeselectAll, () => selectedRuns.setMatchingSelected(false)),
    makeCommand(m.commandInvert, () => selectedRuns.invert()),
    makeCommand(m.commandUngroup, () => runGroups.groupBy(null)),
  ];
}

function hparamCommands(page: PageState): Command[] {
  const { columnValues, runGroups, runColors, visibleColumns } = page;
  return columnValues.available.hparams.flatMap(({ name }) => {
    const key = `hparam:${name}`;
    return [
      makeCommand(m.commandGroupBy({ name }), () => runGroups.groupBy(groupingCodec.parse(key))),
      makeCommand(m.commandColorBy({ name }), () => runColors.setColorBy({ by: 'column', key })),
      makeCommand(m.commandAddColumn({ name }), () => visibleColumns.add(key)),
    ];
  });
}

function metricCommands({ columnValues, visibleColumns }: PageState): Command[] {
  return columnValues.available.metrics.map((tag) =>
    makeCommand(m.commandAddLastColumn({ tag }), () => visibleColumns.add(`last:${tag}`)),
  );
}

function makeCommand(label: string, run: () => void): Command {
  return { label, kind: 'Action', hint: m.commandHint, run };
}
