import { groupingCodec } from '../../lib/grouping';
import type { Command } from '../../plugin/context';
import { commands, pageShortcuts } from '../../state/commands.svelte';
import { runColors } from '../../state/runs/run-colors.svelte';
import { columnValues, visibleColumns } from '../../state/runs/run-columns.svelte';
import { runGroups, runTable } from '../../state/runs/run-groups.svelte';
import { selectedRuns } from '../../state/runs/visible-runs.svelte';
import { rowSelection } from './row-selection.svelte';
import { runEditing } from './run-actions.svelte';

/** Keys that work wherever the focus is. Returns how to take them back. */
export function registerRunShortcuts(focusFilter: () => void): () => void {
  const shortcuts = [
    { keys: '/', label: 'Filter runs', run: focusFilter },
    {
      keys: 'Shift+A',
      label: 'Tick all runs that are found',
      run: () => selectedRuns.setMatchingSelected(true),
    },
    {
      keys: 'Shift+N',
      label: 'Tick none of them',
      run: () => selectedRuns.setMatchingSelected(false),
    },
    { keys: 'Shift+I', label: 'Invert the ticks', run: () => selectedRuns.invert() },
  ];
  const stops = shortcuts.map((shortcut) =>
    pageShortcuts.registerForPage({ ...shortcut, group: 'Runs' }),
  );
  return () => stops.forEach((stop) => stop());
}

const PAGE_ROWS = 20;

/** Does what a key means while the table has the focus; false if it means nothing there. */
export function handleTableKey(event: KeyboardEvent): boolean {
  // A key that a button or a box inside the table was pressed with belongs to that.
  if (event.target !== event.currentTarget || event.altKey) return false;
  if (event.ctrlKey || event.metaKey) return pressWithModifier(event.key);
  const place = indexForKey(event.key);
  if (place === null) return runRowKey(event.key);
  rowSelection.moveTo(
    Math.min(runTable.rows.length - 1, Math.max(0, place)),
    event.shiftKey ? 'range' : 'alone',
  );
  return true;
}

export function isMenuKey({ key, shiftKey }: KeyboardEvent): boolean {
  return key === 'ContextMenu' || (key === 'F10' && shiftKey);
}

function pressWithModifier(key: string): boolean {
  if (key.toLowerCase() !== 'a') return false;
  rowSelection.selectAll();
  return true;
}

function indexForKey(key: string): number | null {
  const { activeIndex } = rowSelection;
  const places: Readonly<Record<string, number>> = {
    ArrowDown: activeIndex + 1,
    ArrowUp: activeIndex - 1,
    PageDown: activeIndex + PAGE_ROWS,
    PageUp: activeIndex - PAGE_ROWS,
    Home: 0,
    End: runTable.rows.length - 1,
  };
  return places[key] ?? null;
}

function runRowKey(key: string): boolean {
  const row = rowSelection.activeRow;
  if (key === 'Escape') rowSelection.clear();
  else if (!row) return false;
  else if (key === ' ') toggleSelectedRuns();
  else if (key === 'Enter') selectedRuns.solo(rowSelection.namesFor(row));
  else if (key === 'F2' && row.kind === 'run') runEditing.renaming = row.name;
  else if (key === 'ArrowLeft') collapseGroupAt(rowSelection.activeIndex);
  else if (key === 'ArrowRight' && row.kind === 'group') runGroups.setCollapsed(row.key, false);
  else return false;
  return true;
}

/** All become ticked, unless they all are. */
function toggleSelectedRuns(): void {
  const row = rowSelection.activeRow;
  if (!row) return;
  const names = rowSelection.namesFor(row);
  selectedRuns.setSelected(names, !names.every((name) => selectedRuns.isSelected(name)));
}

/** From a run to the head of its group, and from there folds it. */
function collapseGroupAt(place: number): void {
  const row = runTable.rows[place];
  if (row?.kind === 'group') runGroups.setCollapsed(row.key, true);
  else if (runGroups.keys)
    rowSelection.moveTo(
      runTable.rows.findLastIndex((row, at) => at < place && row.kind === 'group'),
    );
}

const MAX_COMMANDS = 6;

/** Lets the search box do what the table of runs can. Returns how to take that back. */
export function registerRunCommands(): () => void {
  return commands.register((query) => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const hasAll = ({ label }: Command): boolean =>
      words.every((word) => label.toLowerCase().includes(word));
    return [...selectionCommands(), ...hparamCommands(), ...metricCommands()]
      .filter(hasAll)
      .slice(0, MAX_COMMANDS);
  });
}

function selectionCommands(): Command[] {
  return [
    action('Tick all runs that are found', () => selectedRuns.setMatchingSelected(true)),
    action('Tick none of the runs that are found', () => selectedRuns.setMatchingSelected(false)),
    action('Invert which runs are ticked', () => selectedRuns.invert()),
    action('Do not group runs', () => runGroups.groupBy(null)),
  ];
}

function hparamCommands(): Command[] {
  return columnValues.available.hparams.flatMap(({ name }) => {
    const key = `hparam:${name}`;
    return [
      action(`Group runs by ${name}`, () => runGroups.groupBy(groupingCodec.parse(key))),
      action(`Colour runs by ${name}`, () => runColors.setColorBy({ by: 'column', key })),
      action(`Column ${name}`, () => visibleColumns.add(key)),
    ];
  });
}

function metricCommands(): Command[] {
  return columnValues.available.metrics.map((tag) =>
    action(`Column with the last ${tag}`, () => visibleColumns.add(`last:${tag}`)),
  );
}

function action(label: string, run: () => void): Command {
  return { label, kind: 'Action', hint: 'runs', run };
}
