import * as common from '../catalog/common';
import * as runsMessages from '../catalog/runs';
import * as m from '../catalog/shell';
import { copyText } from '../lib/download';
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
