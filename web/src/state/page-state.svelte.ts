import { createContext, untrack } from 'svelte';

import { apiRequest, apiRequestBlob, getTransport, postJson } from '../api/client';
import { createQuery } from '../api/create-query.svelte';
import { QueryCache } from '../api/query-cache';
import { optionalNumber, range } from '../lib/codecs';
import type { Context, Cursor, DashboardApi, Param, UrlState, XAxis } from '../plugin/context';
import type { BuiltInDashboard } from '../plugin/registry';
import { PageCommands, PageSearch, PageShortcuts } from './commands.svelte';
import { Dashboards } from './dashboards.svelte';
import { DamagedFiles, LiveLog, LogTags } from './live-log.svelte';
import { Alerts, LogNotes } from './notes.svelte';
import { PageErrors } from './page-errors.svelte';
import { Clock, OpenPanels, PageViewport, RunsPanelState } from './page-layout.svelte';
import { PageTheme, StoredPreferences } from './preferences.svelte';
import { createRunState, type RunState } from './runs/runs.svelte';
import { PageUrl } from './url.svelte';

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
  readonly search: PageSearch;
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
  const tags = new LogTags(liveLog);
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
    damagedFiles: new DamagedFiles(preferences),
    notes,
    alerts: new Alerts(notes, preferences),
    dashboards,
    ...runState,
    cursor: new LinkedCursor(url),
    shortcuts: new PageShortcuts(),
    commands: new PageCommands(),
    search: new PageSearch(url, liveLog, tags, dashboards, runState.runs),
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
  void dashboards.start();
  notes.refresh();
  liveLog.on('reset', () => {
    notes.refresh();
    void dashboards.refresh();
  });
  const listeners = new AbortController();
  addEventListener('online', () => queries.reconnect(), { signal: listeners.signal });
  const stopEffects = $effect.root(() => {
    $effect(() => queries.setPaused(liveLog.isPaused));
    $effect(() => {
      if (liveLog.isStarted && !liveLog.isPaused) return untrack(() => liveLog.subscribe());
    });
    $effect(() => {
      liveLog.getRevision(null);
      if (!liveLog.isPaused || !tags.isReady) tags.refresh();
      if (!liveLog.isPaused && tags.isReady) dashboards.scheduleRefresh();
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
    get: (path, signal) => apiRequest(url(path), signal ? { signal } : {}),
    post: (path, body, signal) => apiRequest(url(path), postJson(body, signal)),
    blob: (path, body, signal) => apiRequestBlob(url(path), postJson(body, signal)),
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
