import { Haystack } from '../base/fuzzy';
import { capsOf } from '../base/shortcut';
import { address } from '../core/address.svelte';
import { board } from '../core/board.svelte';
import { commands } from '../core/commands.svelte';
import { dashboards, type Entry } from '../core/dashboards.svelte';
import { keys } from '../core/keys.svelte';
import { panel } from '../core/panel.svelte';
import { side } from '../core/side.svelte';
import { theme } from '../core/theme.svelte';
import type { Command } from '../plugin/context';

interface Action {
  /** What it would do right now. */
  readonly label: () => string;
  /** What it does at any time, where that is something else. */
  readonly always?: string;
  readonly keys?: string;
  readonly run: () => void;
}

/** What the page itself can do, by key and by name. */
const ACTIONS: readonly Action[] = [
  { label: () => 'Search', keys: 'Mod+K', run: () => panel.toggleWindow('search') },
  { label: () => 'Show the shortcuts', keys: '?', run: () => panel.toggleWindow('keys') },
  {
    label: () => (side.open ? 'Hide the runs' : 'Show the runs'),
    always: 'Show or hide the runs',
    keys: 'b',
    run: () => side.toggle(),
  },
  {
    label: () => (board.paused ? 'Go on with live updates' : 'Pause live updates'),
    always: 'Pause live updates, or go on',
    keys: 'l',
    run: () => board.pause(!board.paused),
  },
  {
    label: () => `Use the ${theme.other} theme`,
    always: 'Light or dark theme',
    keys: 't',
    run: () => theme.toggle(),
  },
  { label: () => 'Settings', keys: ',', run: () => panel.toggle('settings') },
  { label: () => 'Alerts', run: () => panel.toggle('alerts') },
  { label: () => 'Reset the view', run: () => address.clear() },
  {
    label: () => 'Copy the link to this view',
    run: () => void navigator.clipboard.writeText(location.href),
  },
];

/** How many dashboards have a key of their own. */
const NUMBERED = 9;

/** Returns how to take them back. */
export function registerActions(): () => void {
  const stops = ACTIONS.flatMap(({ keys: pressed, label, always = label(), run }) =>
    pressed ? [keys.registerForPage({ keys: pressed, label: always, group: 'Page', run })] : [],
  );
  stops.push(commands.register(findActions));
  return () => stops.forEach((stop) => stop());
}

/** Number keys for the tabs that there are right now. */
export function registerTabs(tabs: readonly Entry[]): () => void {
  const stops = tabs.slice(0, NUMBERED).map(({ name, title }, at) =>
    keys.registerForPage({
      keys: String(at + 1),
      label: title,
      group: 'Dashboards',
      run: () => dashboards.open(name),
    }),
  );
  return () => stops.forEach((stop) => stop());
}

function findActions(query: string): Command[] {
  const hay = new Haystack(ACTIONS, ({ label }) => label());
  return hay.find(query, ACTIONS.length).map(({ item }) => ({
    label: item.label(),
    kind: 'Action',
    ...(item.keys ? { hint: capsOf(item.keys).join(' ') } : {}),
    run: item.run,
  }));
}
