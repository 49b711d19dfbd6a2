import { untrack } from 'svelte';

import * as common from '../catalog/common';
import * as m from '../catalog/shell';
import { flag, text } from '../lib/codecs';
import { isActivating, isTyping, matchesShortcut } from '../lib/keyboard';
import { FuzzyIndex } from '../lib/text-filter';
import type { Command, Commands, Param, Runs, Shortcut, Shortcuts } from '../plugin/context';
import type { Dashboards } from './dashboards.svelte';
import type { LiveLog, LogTags } from './live-log.svelte';
import type { PageUrl } from './url.svelte';

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/**
 * All shortcuts. Of several for the same keys, those of a dashboard precede those of the page, which
 * may be registered again at any time; among equals, the last one registered precedes.
 */
export class PageShortcuts implements Shortcuts {
  #pageShortcuts = $state.raw<readonly Shortcut[]>([]);
  #dashboardShortcuts = $state.raw<readonly Shortcut[]>([]);

  readonly #shortcuts = $derived([...this.#pageShortcuts, ...this.#dashboardShortcuts]);
  readonly groups = $derived(groupShortcuts(this.#shortcuts));

  /** Handle keys until the returned function is called. */
  start(): () => void {
    const listeners = new AbortController();
    addEventListener('keydown', (event) => this.#handleKey(event), { signal: listeners.signal });
    return () => listeners.abort();
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

  #handleKey(event: KeyboardEvent): void {
    // The focused element has handled the key.
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

type CommandProvider = (query: string) => readonly Command[];

/** The providers of results for the command palette, in the order of their results. */
export class PageCommands implements Commands {
  #providers = $state.raw<readonly CommandProvider[]>([]);

  /** May be called in an effect, which does not depend on the providers. */
  register(find: CommandProvider): () => void {
    this.#update((providers) => [...providers, find]);
    return () => this.#update((providers) => providers.filter((other) => other !== find));
  }

  find(query: string): Command[] {
    return this.#providers.flatMap((find) => find(query));
  }

  #update(change: (providers: readonly CommandProvider[]) => CommandProvider[]): void {
    this.#providers = untrack(() => change(this.#providers));
  }
}

const MAX_RUN_RESULTS = 8;
const MAX_TAG_RESULTS = 8;

/** Results of the command palette for dashboards, tags and runs. */
export class PageSearch {
  readonly #liveLog: LiveLog;
  readonly #tags: LogTags;
  readonly #dashboards: Dashboards;
  readonly #runs: Pick<Runs, 'solo'>;
  readonly #tagText: Param<string>;
  readonly #tagRegex: Param<boolean>;

  // Built once for many keystrokes, when the first query is typed.
  readonly #runIndex = $derived.by(() => new FuzzyIndex(this.#liveLog.runs, ({ name }) => name));
  readonly #tagIndex = $derived.by(() => new FuzzyIndex(this.#tags.rows, ({ tag }) => tag));
  readonly #dashboardIndex = $derived.by(
    () => new FuzzyIndex(this.#dashboards.entries, ({ title }) => title),
  );

  constructor(
    url: PageUrl,
    liveLog: LiveLog,
    tags: LogTags,
    dashboards: Dashboards,
    runs: Pick<Runs, 'solo'>,
  ) {
    this.#liveLog = liveLog;
    this.#tags = tags;
    this.#dashboards = dashboards;
    this.#runs = runs;
    this.#tagText = url.param('tags', text, '');
    this.#tagRegex = url.param('tags-regex', flag, false);
  }

  register(commands: Commands): () => void {
    const providers = [this.#findDashboards, this.#findTags, this.#findRuns];
    const stops = providers.map((find) => commands.register(find.bind(this)));
    return () => stops.forEach((stop) => stop());
  }

  /** Filter tags by this one, in the first dashboard that can show it. */
  showTag(tag: string): void {
    const plugin = this.#tags.rows.find((row) => row.tag === tag)?.plugin ?? '';
    const entry = this.#dashboards.findByPlugin(plugin);
    if (entry) this.#dashboards.open(entry.name);
    this.#tagText.set(tag, 'push');
    this.#tagRegex.set(false, 'push');
  }

  #findDashboards(query: string): Command[] {
    const count = this.#dashboards.entries.length;
    return this.#dashboardIndex.search(query, count).map(({ item }) => ({
      label: item.title,
      kind: 'Dashboard',
      ...(item.active ? {} : { hint: common.noData }),
      run: () => this.#dashboards.open(item.name),
    }));
  }

  #findRuns(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#runIndex.search(query, MAX_RUN_RESULTS).map(({ item }) => ({
      label: item.name,
      kind: 'Run',
      hint: m.commandsRunHint,
      run: () => this.#runs.solo(item.name),
    }));
  }

  #findTags(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#tagIndex.search(query, MAX_TAG_RESULTS).map(({ item }) => ({
      label: item.tag,
      kind: 'Tag',
      hint: m.commandsTagKind({ kind: item.kind }),
      run: () => this.showTag(item.tag),
    }));
  }
}
