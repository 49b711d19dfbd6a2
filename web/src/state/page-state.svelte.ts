/** The state of one mounted page: its parts, its commands and its errors. */
import { createContext, untrack } from 'svelte';

import { apiRequest, getTransport } from '../api/transport';
import { createQuery } from '../api/create-query.svelte';
import { QueryCache } from '../api/query-cache';
import { optionalNumber, range } from '../lib/codecs';
import { isActivating, isTyping, matchesShortcut, runAfterPaint } from '../lib/browser';
import type {
  Command,
  Commands,
  Context,
  Cursor,
  DashboardApi,
  Param,
  Shortcut,
  Shortcuts,
  UrlState,
  XAxis,
} from '../plugin/context';
import type { BuiltInDashboard } from '../plugin/registry';
import { Dashboards } from './dashboards.svelte';
import { DamagedFiles, LiveLog, LogTags } from './live-log.svelte';
import { Alerts, LogNotes } from './notes.svelte';
import {
  Clock,
  OpenPanels,
  PageTheme,
  PageViewport,
  RunsPanelState,
  StoredPreferences,
} from './preferences.svelte';
import { createRunState, type RunState } from './runs/runs.svelte';
import { PageUrl } from './url.svelte';

/** An error of the page's own code. */
export interface PageError {
  readonly message: string;
  readonly count: number;
}

/** Messages of browsers for things that are not errors of the page. */
const IGNORED = /^ResizeObserver loop|^Script error\.?$/;

/**
 * Programming errors: whatever is thrown and no part of the page handles. They are shown as what
 * they are, never as an unreachable server, and the browser logs them to its console.
 */
export class PageErrors {
  latest = $state.raw<PageError | null>(null);

  /** Collect uncaught errors until the returned function is called. */
  start(): () => void {
    const listeners = new AbortController();
    const { signal } = listeners;
    addEventListener('error', (event) => this.#add(event.error ?? event.message), { signal });
    addEventListener('unhandledrejection', (event) => this.#add(event.reason), { signal });
    return () => listeners.abort();
  }

  dismiss(): void {
    this.latest = null;
  }

  #add(error: unknown): void {
    const message = describeError(error);
    if (isAborted(error) || IGNORED.test(message)) return;
    this.latest = { message, count: (this.latest?.count ?? 0) + 1 };
  }
}

/** Return the message of anything that was thrown. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** A canceled request is not an error. */
function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

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

/** The position of the pointer, shared by all charts. Pinned steps and ranges are in the URL. */
export class LinkedCursor implements Cursor {
  hover = $state.raw<Cursor['hover']>(null);
  readonly #pinned: Param<number | null>;
  readonly #range: Param<readonly [number, number] | null>;

  constructor(url: UrlState) {
    this.#pinned = url.param('cursor', optionalNumber, null);
    this.#range = url.param('range', range, null);
  }

  get pinned(): number | null {
    return this.#pinned.value;
  }

  get range(): readonly [number, number] | null {
    return this.#range.value;
  }

  setHover(x: number | null, axis: XAxis, from: string): void {
    // The pointer may enter the next chart before the previous one reports that it has left.
    if (x !== null) this.hover = { x, axis, from };
    else if (this.hover?.from === from) this.hover = null;
  }

  pin(x: number | null): void {
    this.#pinned.set(x);
  }

  selectRange(range: readonly [number, number] | null): void {
    this.#range.set(range);
  }
}

/** All state of one mounted page. Parts that listen to the browser or the server have a `start`. */
export interface PageState extends RunState {
  readonly url: PageUrl;
  readonly preferences: StoredPreferences;
  readonly theme: PageTheme;
  readonly viewport: PageViewport;
  readonly runsPanel: RunsPanelState;
  readonly openPanels: OpenPanels;
  readonly clock: Clock;
  readonly errors: PageErrors;
  readonly queries: QueryCache;
  readonly liveLog: LiveLog;
  readonly tags: LogTags;
  readonly damagedFiles: DamagedFiles;
  readonly notes: LogNotes;
  readonly alerts: Alerts;
  readonly dashboards: Dashboards;
  readonly cursor: LinkedCursor;
  readonly shortcuts: PageShortcuts;
  readonly commands: PageCommands;
}

/** The state of the page that a component belongs to. */
export const [getPage, setPage] = createContext<PageState>();

/** Create the state of a page. Nothing is requested and no listener is added before `startPage`. */
export function createPageState(builtIn: readonly BuiltInDashboard[]): PageState {
  const url = new PageUrl();
  const preferences = new StoredPreferences();
  const viewport = new PageViewport();
  const runsPanel = new RunsPanelState(viewport, preferences);
  const queries = createQueryCache();
  const liveLog = new LiveLog(url, queries);
  const tags = new LogTags(queries);
  const notes = new LogNotes(liveLog);
  const dashboards = new Dashboards(builtIn, url, liveLog, tags, notes);
  const runState = createRunState(url, preferences, runsPanel, liveLog, notes);
  return {
    url,
    preferences,
    theme: new PageTheme(preferences),
    viewport,
    runsPanel,
    openPanels: new OpenPanels(),
    clock: new Clock(),
    errors: new PageErrors(),
    queries,
    liveLog,
    tags,
    damagedFiles: new DamagedFiles(queries, preferences),
    notes,
    alerts: new Alerts(notes, preferences),
    dashboards,
    ...runState,
    cursor: new LinkedCursor(url),
    shortcuts: new PageShortcuts(),
    commands: new PageCommands(),
  };
}

/** Load the page's data and keep it up to date until the returned function is called. */
export function startPage(page: PageState): () => void {
  const { liveLog, tags, notes, dashboards, runs, queries } = page;
  const { url, preferences, theme, viewport, clock, errors, shortcuts } = page;
  const parts = [errors, url, preferences, theme, viewport, clock, shortcuts];
  const stops = parts.map((part) => part.start());
  void liveLog.start();
  tags.start();
  dashboards.start();
  notes.start();
  const listeners = new AbortController();
  addEventListener('online', () => queries.reconnect(), { signal: listeners.signal });
  const stopEffects = $effect.root(() => {
    $effect(() => queries.setPaused(liveLog.isPaused));
    $effect(() => {
      // The first charts do not wait for the worker that holds the stream.
      if (liveLog.isStarted && !liveLog.isPaused) return runAfterPaint(() => liveLog.subscribe());
    });
    runs.startEffects();
  });
  return () => {
    listeners.abort();
    stopEffects();
    liveLog.stop();
    queries.dispose();
    stops.forEach((stop) => stop());
  };
}

/** Create the cache of one mounted page. */
function createQueryCache(): QueryCache {
  return new QueryCache({ transport: getTransport(), afterPaint: waitForPaint });
}

/** Wait until the last changes are on the screen, so that later responses do not delay them. */
async function waitForPaint(): Promise<void> {
  await nextFrame();
  await nextFrame();
}

/** A hidden page draws nothing, so there is nothing to wait for. */
function nextFrame(): Promise<unknown> {
  return new Promise((resolve) =>
    document.hidden ? resolve(null) : requestAnimationFrame(resolve),
  );
}

/** Return the API of one dashboard. URLs are relative, as the page may be below any path. */
export function createDashboardApi(name: string): DashboardApi {
  const url = (path: string): string => `api/v1/${name}/${path}`;
  return {
    url,
    fileUrl: (path) => getTransport().resolveUrl(url(path)),
    get: (path, signal) => apiRequest(url(path), { signal }),
    post: (path, body, signal) => apiRequest(url(path), { method: 'POST', body, signal }),
    blob: (path, body, signal) =>
      apiRequest(url(path), { method: 'POST', body, isFile: true, signal }),
  };
}

/**
 * Create what a dashboard sees of the page.
 *
 * @param apiName The dashboard whose server routes `context.api` uses.
 * @param reportError Called with errors of the dashboard's code.
 */
export function createDashboardContext(
  page: PageState,
  apiName: string,
  reportError: (error: unknown) => void,
): Context {
  const { runs, tags, liveLog, cursor, url, preferences, shortcuts, commands } = page;
  const { notes, theme, dashboards, queries } = page;
  return {
    runs,
    tags,
    live: liveLog,
    cursor,
    url,
    preferences,
    shortcuts,
    commands,
    notes,
    api: createDashboardApi(apiName),
    getApi: createDashboardApi,
    queries,
    query: (definition, request, options) => createQuery(queries, definition, request, options),
    supports: (route) => queries.supports(route),
    isDashboardActive: (name) => dashboards.active.some((entry) => entry.name === name),
    theme,
    get roots() {
      return liveLog.serverInfo?.roots ?? [];
    },
    isStatic: getTransport().exportedAt !== null,
    get isReadOnly() {
      return liveLog.serverInfo?.read_only ?? false;
    },
    reportError,
    subscribe: (listener) => subscribe(page, listener),
  };
}

/** Call `listener` after changes of the page's state, at most once per frame. */
function subscribe(page: PageState, listener: () => void): () => void {
  let frame = 0;
  const stop = $effect.root(() => {
    $effect(() => {
      readAll(page);
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(listener);
    });
  });
  return () => {
    cancelAnimationFrame(frame);
    stop();
  };
}

/** Read all state that the context gives access to, so that an effect depends on it. */
function readAll(page: PageState): readonly unknown[] {
  const { runs, tags, liveLog, cursor, notes, theme, url, dashboards } = page;
  return [
    [runs.visible, runs.groups, runs.baseline, runs.highlighted, runs.all],
    [tags.rows, tags.isReady, tags.error],
    [liveLog.getRevision(null), liveLog.isPaused, liveLog.isLoading, liveLog.serverInfo],
    [cursor.hover, cursor.pinned, cursor.range],
    [notes.annotations, notes.layouts, notes.runs, theme.dark, url.search, dashboards.active],
  ];
}
