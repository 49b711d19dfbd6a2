/** Actions of the page, and keyboard shortcuts of the page and of the run table. */
import * as common from '../catalog/common';
import * as runsMessages from '../catalog/runs';
import * as m from '../catalog/shell';
import { copyText } from '../lib/browser';
import type { DashboardEntry } from '../state/dashboards.svelte';
import type { PageState } from '../state/page-state.svelte';

interface PageAction {
  /** What it does now. */
  readonly label: () => string;
  /** Label in the list of shortcuts, if `label` depends on the state. */
  readonly shortcutLabel?: string;
  readonly keys?: string;
  readonly run: () => void;
}

/** Return the actions of the page itself, for shortcuts and the command palette. */
export function listActions({
  openPanels,
  runsPanel,
  liveLog,
  theme,
  url,
}: PageState): PageAction[] {
  return [
    { label: () => common.search, keys: 'Mod+K', run: () => openPanels.toggleDialog('search') },
    {
      label: () => m.actionShowShortcuts,
      keys: '?',
      run: () => openPanels.toggleDialog('shortcuts'),
    },
    {
      label: () => (runsPanel.isOpen ? runsMessages.hidePanel : runsMessages.showPanel),
      shortcutLabel: m.actionToggleRuns,
      keys: 'b',
      run: () => runsPanel.toggle(),
    },
    {
      label: () => (liveLog.isPaused ? m.liveResume : m.livePause),
      shortcutLabel: m.actionToggleLive,
      keys: 'l',
      run: () => liveLog.setPaused(!liveLog.isPaused),
    },
    {
      label: () => (theme.dark ? m.themeSwitchToLight : m.themeSwitchToDark),
      shortcutLabel: m.actionToggleTheme,
      keys: 't',
      run: () => theme.toggle(),
    },
    { label: () => common.settings, keys: ',', run: () => openPanels.togglePanel('settings') },
    { label: () => m.alertsTitle, run: () => openPanels.togglePanel('alerts') },
    { label: () => common.resetView, run: () => url.clear() },
    { label: () => common.copyLink, run: () => void copyText(location.href) },
  ];
}

/** Only this many dashboards have a number key. */
const MAX_TAB_SHORTCUTS = 9;

/** Register the shortcuts of the page; return a function that removes them. */
export function registerPageShortcuts(page: PageState): () => void {
  const stops = listActions(page).flatMap(({ keys, label, shortcutLabel = label(), run }) =>
    keys
      ? [
          page.shortcuts.registerForPage({
            keys,
            label: shortcutLabel,
            group: m.shortcutsGroupPage,
            run,
          }),
        ]
      : [],
  );
  return () => stops.forEach((stop) => stop());
}

/** Register number keys for the tabs; return a function that removes them. */
export function registerTabShortcuts(
  { shortcuts, dashboards }: PageState,
  tabs: readonly DashboardEntry[],
): () => void {
  const stops = tabs.slice(0, MAX_TAB_SHORTCUTS).map(({ name, title }, index) =>
    shortcuts.registerForPage({
      keys: String(index + 1),
      label: title,
      group: m.navDashboards,
      run: () => dashboards.open(name),
    }),
  );
  return () => stops.forEach((stop) => stop());
}

/** Register shortcuts that work anywhere on the page; return a function that removes them. */
export function registerRunShortcuts(
  { shortcuts, selectedRuns }: PageState,
  focusFilter: () => void,
): () => void {
  const group = common.runs;
  const stops = [
    { keys: '/', label: runsMessages.filterLabel, run: focusFilter },
    {
      keys: 'Shift+A',
      label: runsMessages.headSelectAll,
      run: () => selectedRuns.setMatchingSelected(true),
    },
    {
      keys: 'Shift+N',
      label: runsMessages.commandDeselectAll,
      run: () => selectedRuns.setMatchingSelected(false),
    },
    { keys: 'Shift+I', label: runsMessages.commandInvert, run: () => selectedRuns.invert() },
  ].map((shortcut) => shortcuts.registerForPage({ ...shortcut, group }));
  return () => stops.forEach((stop) => stop());
}

const PAGE_ROWS = 20;

/** Handle a key while the table has the focus; return false for keys without a meaning there. */
export function handleTableKey(page: PageState, event: KeyboardEvent): boolean {
  if (!isKeyOfTable(event) || event.altKey) return false;
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

/**
 * Return whether a key is for the table or for one of its rows, which has the focus after a click.
 * Keys of buttons and inputs inside of the table belong to them.
 */
export function isKeyOfTable({ target, currentTarget }: Event): boolean {
  return target === currentTarget || (target as Element).getAttribute('role') === 'row';
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
      runTable.rows.findLastIndex((row, index) => index < activeIndex && row?.kind === 'group'),
    );
}
