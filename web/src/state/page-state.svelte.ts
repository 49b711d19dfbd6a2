import { untrack } from 'svelte';

import { apiRequest, apiRequestBlob, getTransport, postJson } from '../api/client';
import { createQuery } from '../api/create-query.svelte';
import { optionalNumber, range } from '../lib/codecs';
import type { Context, Cursor, DashboardApi, XAxis } from '../plugin/context';
import type { BuiltInDashboard } from '../plugin/registry';
import { commands, pageShortcuts } from './commands.svelte';
import { dashboards } from './dashboards.svelte';
import { liveLog, tags } from './live-log.svelte';
import { notes } from './notes.svelte';
import { preferences, theme } from './preferences.svelte';
import { queries } from './queries';
import { runs } from './runs/runs.svelte';
import { pageUrl } from './url.svelte';

/** Where the pointer is, for all charts; what is pinned is a part of the address. */
class LinkedCursor implements Cursor {
  hover = $state.raw<Cursor['hover']>(null);
  readonly #pinned = pageUrl.param('at', optionalNumber, null);
  readonly #range = pageUrl.param('range', range, null);

  get pinned(): number | null {
    return this.#pinned.value;
  }

  get range(): readonly [number, number] | null {
    return this.#range.value;
  }

  setHover(x: number | null, axis: XAxis, from: string): void {
    // A chart that is left late must not take away the hover of the next one.
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

export const linkedCursor = new LinkedCursor();

/** The server half of one dashboard; addresses are relative to the page, wherever it lives. */
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

/** The page as the dashboard sees it whose server half is `server`. */
export function createDashboardContext(server: string): Context {
  return {
    runs,
    tags,
    live: liveLog,
    cursor: linkedCursor,
    url: pageUrl,
    preferences,
    shortcuts: pageShortcuts,
    commands,
    notes,
    api: createDashboardApi(server),
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
    subscribe,
  };
}

function subscribe(listener: () => void): () => void {
  let frame = 0;
  const stop = $effect.root(() => {
    $effect(() => {
      trackAll();
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(listener);
    });
  });
  return () => {
    cancelAnimationFrame(frame);
    stop();
  };
}

/** Whatever a dashboard may look at, so that a change of it is noticed. */
function trackAll(): readonly unknown[] {
  return [
    [runs.visible, runs.groups, runs.baseline, runs.highlighted, runs.all],
    [tags.rows, tags.isReady, tags.error],
    [liveLog.getRevision(null), liveLog.isPaused, liveLog.isLoading, liveLog.serverInfo],
    [linkedCursor.hover, linkedCursor.pinned, linkedCursor.range],
    [notes.annotations, notes.layouts, theme.dark, pageUrl.search, dashboards.active],
  ];
}

/** Fills the page, and keeps every part of it up to date with what the server says. */
export function startPage(builtIn: readonly BuiltInDashboard[]): () => void {
  void liveLog.start();
  tags.start();
  void dashboards.start(builtIn);
  liveLog.on('reset', () => {
    notes.refresh();
    void dashboards.refresh();
  });
  const reconnect = (): void => queries.reconnect();
  addEventListener('online', reconnect);
  const stop = $effect.root(() => {
    $effect(() => queries.setPaused(liveLog.isPaused));
    $effect(() => {
      if (liveLog.isStarted && !liveLog.isPaused) return untrack(() => liveLog.subscribe());
    });
    $effect(() => {
      liveLog.getRevision(null);
      if (!liveLog.isPaused || !tags.isReady) tags.refresh();
      if (!liveLog.isPaused && tags.isReady) dashboards.scheduleRefresh();
    });
  });
  return () => {
    removeEventListener('online', reconnect);
    stop();
  };
}
