import { untrack } from 'svelte';

import * as codec from '../lib/codecs';
import { isActivating, isTyping, matchesShortcut } from '../lib/keyboard';
import { FuzzyIndex } from '../lib/text-filter';
import type { Command, Commands, Shortcut, Shortcuts } from '../plugin/context';
import { dashboards } from './dashboards.svelte';
import { liveLog, tags } from './live-log.svelte';
import { runs } from './runs/runs.svelte';
import { pageUrl } from './url.svelte';

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/**
 * All shortcuts. Of several for the same keys, those of a dashboard precede those of the page, which
 * may be registered again at any time; among equals, the last one registered precedes.
 */
class PageShortcuts implements Shortcuts {
  #pageShortcuts = $state.raw<readonly Shortcut[]>([]);
  #dashboardShortcuts = $state.raw<readonly Shortcut[]>([]);

  readonly #shortcuts = $derived([...this.#pageShortcuts, ...this.#dashboardShortcuts]);
  readonly groups = $derived(groupShortcuts(this.#shortcuts));

  constructor() {
    addEventListener('keydown', (event) => this.#press(event));
  }

  /** Register a shortcut of a dashboard. An effect that calls this does not depend on it. */
  register(shortcut: Shortcut): () => void {
    untrack(() => (this.#dashboardShortcuts = [...this.#dashboardShortcuts, shortcut]));
    return () =>
      untrack(() => (this.#dashboardShortcuts = without(this.#dashboardShortcuts, shortcut)));
  }

  /** Register a shortcut of the page, which dashboards can override. */
  registerForPage(shortcut: Shortcut): () => void {
    untrack(() => (this.#pageShortcuts = [...this.#pageShortcuts, shortcut]));
    return () => untrack(() => (this.#pageShortcuts = without(this.#pageShortcuts, shortcut)));
  }

  #press(event: KeyboardEvent): void {
    // Whoever has the focus has had the key first.
    if (event.defaultPrevented || event.isComposing) return;
    if (isTyping(event) || isActivating(event)) return;
    const shortcut = this.#shortcuts.findLast(({ keys }) => matchesShortcut(keys, event));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(event);
  }
}

function without(shortcuts: readonly Shortcut[], removed: Shortcut): readonly Shortcut[] {
  return shortcuts.filter((shortcut) => shortcut !== removed);
}

function groupShortcuts(shortcuts: readonly Shortcut[]): ShortcutGroup[] {
  const titles = [...new Set(shortcuts.map(({ group }) => group))];
  return titles.map((title) => ({
    title,
    shortcuts: shortcuts.filter(({ group }) => group === title),
  }));
}

export const pageShortcuts = new PageShortcuts();

type CommandProvider = (query: string) => readonly Command[];

/** Who answers the command box, in the order in which answers are listed. */
class PageCommands implements Commands {
  #finders = $state.raw<readonly CommandProvider[]>([]);

  /** May be called in an effect, which must not run again because of it. */
  register(find: CommandProvider): () => void {
    this.#change((finders) => [...finders, find]);
    return () => this.#change((finders) => finders.filter((other) => other !== find));
  }

  find(query: string): Command[] {
    return this.#finders.flatMap((find) => find(query));
  }

  #change(change: (finders: readonly CommandProvider[]) => CommandProvider[]): void {
    this.#finders = untrack(() => change(this.#finders));
  }
}

export const commands = new PageCommands();

const MAX_RUN_RESULTS = 8;
const MAX_TAG_RESULTS = 8;

/** What the command box finds without the help of a dashboard. */
class PageSearch {
  // Made once for many keystrokes, and only when somebody types.
  readonly #runs = $derived(new FuzzyIndex(liveLog.runs, (run) => run.name));
  readonly #tags = $derived(new FuzzyIndex(tags.rows, (row) => row.tag));
  readonly #dashboards = $derived(new FuzzyIndex(dashboards.entries, (entry) => entry.title));
  readonly #tagText = pageUrl.param('tags', codec.text, '');
  readonly #tagRegex = pageUrl.param('tags-re', codec.flag, false);

  register(): () => void {
    const finders = [this.#findDashboards, this.#findTags, this.#findRuns];
    const stops = finders.map((find) => commands.register(find.bind(this)));
    return () => stops.forEach((stop) => stop());
  }

  #findDashboards(query: string): Command[] {
    return this.#dashboards.search(query, dashboards.entries.length).map(({ item }) => ({
      label: item.title,
      kind: 'Dashboard',
      ...(item.active ? {} : { hint: 'nothing logged yet' }),
      run: () => dashboards.open(item.name),
    }));
  }

  #findRuns(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#runs.search(query, MAX_RUN_RESULTS).map(({ item }) => ({
      label: item.name,
      kind: 'Run',
      hint: 'show only this run',
      run: () => runs.solo(item.name),
    }));
  }

  #findTags(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#tags.search(query, MAX_TAG_RESULTS).map(({ item }) => ({
      label: item.tag,
      kind: 'Tag',
      hint: item.kind,
      run: () => this.showTag(item.tag),
    }));
  }

  /** In the first dashboard that can show it; the one with all tags shows any. */
  showTag(tag: string): void {
    const plugin = tags.rows.find((row) => row.tag === tag)?.plugin ?? '';
    const entry = dashboards.findByPlugin(plugin);
    if (entry) dashboards.open(entry.name);
    this.#tagText.set(tag, 'push');
    this.#tagRegex.set(false, 'push');
  }
}

export const pageSearch = new PageSearch();
