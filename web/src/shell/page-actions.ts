import { FuzzyIndex } from '../lib/text-filter';
import { getKeyLabels } from '../lib/keyboard';
import { pageUrl } from '../state/url.svelte';
import { liveLog } from '../state/live-log.svelte';
import { commands, pageShortcuts } from '../state/commands.svelte';
import { dashboards, type DashboardEntry } from '../state/dashboards.svelte';
import { openPanels, runsPanel } from '../state/page-layout.svelte';
import { theme } from '../state/preferences.svelte';
import type { Command } from '../plugin/context';

interface PageAction {
  /** What it would do right now. */
  readonly label: () => string;
  /** What it does at any time, where that is something else. */
  readonly shortcutLabel?: string;
  readonly keys?: string;
  readonly run: () => void;
}

/** What the page itself can do, by key and by name. */
const PAGE_ACTIONS: readonly PageAction[] = [
  { label: () => 'Search', keys: 'Mod+K', run: () => openPanels.toggleDialog('search') },
  { label: () => 'Show the shortcuts', keys: '?', run: () => openPanels.toggleDialog('keys') },
  {
    label: () => (runsPanel.isOpen ? 'Hide the runs' : 'Show the runs'),
    shortcutLabel: 'Show or hide the runs',
    keys: 'b',
    run: () => runsPanel.toggle(),
  },
  {
    label: () => (liveLog.isPaused ? 'Go on with live updates' : 'Pause live updates'),
    shortcutLabel: 'Pause live updates, or go on',
    keys: 'l',
    run: () => liveLog.setPaused(!liveLog.isPaused),
  },
  {
    label: () => `Use the ${theme.opposite} theme`,
    shortcutLabel: 'Light or dark theme',
    keys: 't',
    run: () => theme.toggle(),
  },
  { label: () => 'Settings', keys: ',', run: () => openPanels.togglePanel('settings') },
  { label: () => 'Alerts', run: () => openPanels.togglePanel('alerts') },
  { label: () => 'Reset the view', run: () => pageUrl.clear() },
  {
    label: () => 'Copy the link to this view',
    run: () => void navigator.clipboard.writeText(location.href),
  },
];

/** How many dashboards have a key of their own. */
const MAX_TAB_SHORTCUTS = 9;

/** Returns how to take them back. */
export function registerPageActions(): () => void {
  const stops = PAGE_ACTIONS.flatMap(({ keys: pressed, label, shortcutLabel = label(), run }) =>
    pressed
      ? [pageShortcuts.registerForPage({ keys: pressed, label: shortcutLabel, group: 'Page', run })]
      : [],
  );
  stops.push(commands.register(findActions));
  return () => stops.forEach((stop) => stop());
}

/** Number keys for the tabs that there are right now. */
export function registerTabShortcuts(tabs: readonly DashboardEntry[]): () => void {
  const stops = tabs.slice(0, MAX_TAB_SHORTCUTS).map(({ name, title }, at) =>
    pageShortcuts.registerForPage({
      keys: String(at + 1),
      label: title,
      group: 'Dashboards',
      run: () => dashboards.open(name),
    }),
  );
  return () => stops.forEach((stop) => stop());
}

function findActions(query: string): Command[] {
  const hay = new FuzzyIndex(PAGE_ACTIONS, ({ label }) => label());
  return hay.search(query, PAGE_ACTIONS.length).map(({ item }) => ({
    label: item.label(),
    kind: 'Action',
    ...(item.keys ? { hint: getKeyLabels(item.keys).join(' ') } : {}),
    run: item.run,
  }));
}
