import { SvelteMap } from 'svelte/reactivity';

import { QueryObserver } from '../api/create-query.svelte';
import { toProblem } from '../api/errors';
import { subscribeToLive } from '../api/live-updates';
import type { QueryCache } from '../api/query-cache';
import { defineQuery } from '../api/query-definition';
import { ALL_RUNS } from '../api/prefetch';
import type {
  DeltaEvent,
  FileRow,
  LoadStatus,
  Problem,
  RunRow,
  RunsResponse,
  RunTotals,
  StatusResponse,
  TagRow,
} from '../api/schemas';
import { parseTimestamp } from '../api/columns';
import * as common from '../catalog/common';
import * as m from '../catalog/shell';
import { sortNatural } from '../lib/arrays';
import { flag, number } from '../lib/codecs';
import { formatAgo, formatDateTime, formatProgress, formatTimeOrDate } from '../lib/format';
import { sortTags } from '../lib/grouping';
import type { Live, Param, Preferences, Tags, UrlState } from '../plugin/context';

type Connection = 'connecting' | 'open' | 'lost';

const REFRESH_MS = 1000;
/** The list of runs and the status are loaded again when the live stream cannot report changes. */
const RELOAD = { event: 'reload' };
const statusQuery = defineQuery('GET status', { scope: RELOAD, priority: 'high' });
const runsQuery = defineQuery('GET runs', {
  scope: RELOAD,
  minRefreshMs: REFRESH_MS,
  priority: 'high',
});
/** Pause before the next attempt if the server cannot be reached when the page opens. */
const RETRY_START_MS = 10_000;

/** The runs of the log and the state of the server, kept up to date by the live stream. */
export class LiveLog implements Live {
  connection = $state<Connection>('connecting');
  /** Why nothing can be shown; null after the first response. */
  error = $state.raw<Problem | null>(null);
  /** True after the first response. */
  isStarted = $state(false);
  serverInfo = $state.raw<StatusResponse | null>(null);
  status = $state.raw<LoadStatus | null>(null);
  /** The runs that are loaded of a log with too many to load all; null for other logs. */
  loaded = $state.raw<LoadedRuns | null>(null);
  /** Time in ms since when the server is unreachable. */
  lostAt = $state<number | null>(null);
  /** Time in ms of the last change since the page was opened. */
  changedAt = $state<number | null>(null);

  readonly totals: RunTotals = $derived.by(
    () => this.loaded?.totals ?? this.#largeTotals ?? computeRunTotals(this.runs),
  );
  /** Whether the log has more runs than the page loads. */
  readonly isLarge: boolean = $derived.by(() => this.#largeTotals !== null);

  /** Position in the stream of changes that the runs correspond to. */
  cursor = '';

  #runs = $state.raw<readonly RunRow[]>([]);
  #largeTotals = $state.raw<RunTotals | null>(null);
  /** Increases with every change. */
  #revision = $state(0);
  readonly #revisions = new SvelteMap<string, number>();
  readonly #isPaused: Param<boolean>;
  readonly queries: QueryCache;
  readonly #listeners: Record<string, ((body: unknown) => void)[]> = {};
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #response: RunsResponse | undefined;

  constructor(url: UrlState, queries: QueryCache) {
    this.queries = queries;
    this.#isPaused = url.param('paused', flag, false);
  }

  /** In natural order. In a large log, those that the page shows, in any order. */
  get runs(): readonly RunRow[] {
    return this.loaded?.runs ?? this.#runs;
  }

  set runs(runs: readonly RunRow[]) {
    this.#runs = runs;
  }

  get isPaused(): boolean {
    return this.#isPaused.value;
  }

  get isLoading(): boolean {
    return this.status?.loading ?? true;
  }

  /** Load status and runs; repeat until the server responds. */
  async start(): Promise<void> {
    clearTimeout(this.#retryTimer);
    this.connection = 'connecting';
    try {
      await Promise.all([
        this.queries.fetch(statusQuery, {}),
        this.queries.fetch(runsQuery, ALL_RUNS),
      ]);
      new QueryObserver(this.queries, statusQuery, {}, ({ data }) => {
        if (data) this.#showStatus(data);
      }).setRequest({});
      new QueryObserver(this.queries, runsQuery, {}, ({ data }) => {
        if (data) this.#showRuns(data);
      }).setRequest(ALL_RUNS);
      this.error = null;
      this.#setConnection('open');
      this.isStarted = true;
    } catch (error) {
      this.connection = 'lost';
      this.#retryTimer = setTimeout(() => void this.start(), RETRY_START_MS);
      this.error = toProblem(error);
    }
  }

  stop(): void {
    clearTimeout(this.#retryTimer);
  }

  /** While paused, the page does not change; resuming loads everything logged in the meantime. */
  setPaused(paused: boolean): void {
    this.#isPaused.set(paused);
  }

  /** Follow the live stream from the current cursor until the returned function is called. */
  subscribe(): () => void {
    return subscribeToLive(this.cursor, {
      onOpen: () => {
        this.#setConnection('open');
        this.queries.reconnect();
      },
      onLost: () => this.#setConnection('lost'),
      onStatus: (status) => this.#setStatus(status),
      onDelta: (delta) => this.#apply(delta),
      onReset: (cursor) => {
        this.cursor = cursor;
        this.queries.revisions.markLog();
      },
      onEvent: (name, body) => {
        this.queries.revisions.markEvent(name);
        this.#emit(name, body);
      },
    });
  }

  /** Call `listener` for each server event of that name. */
  on(name: string, listener: (body: unknown) => void): void {
    (this.#listeners[name] ??= []).push(listener);
  }

  /** Load the runs, and then all that is shown, after a change that the live stream does not report. */
  reload(): void {
    this.queries.revisions.markEvent(RELOAD.event);
  }

  getRevision(run: string | null): number {
    return run === null ? this.#revision : (this.#revisions.get(run) ?? 0);
  }

  #emit(name: string, body: unknown): void {
    this.#listeners[name]?.forEach((listener) => listener(body));
  }

  #setConnection(connection: Connection): void {
    this.connection = connection;
    this.lostAt = connection === 'lost' ? (this.lostAt ?? Date.now()) : null;
  }

  #setStatus(status: LoadStatus): void {
    const wasLoading = this.status?.loading;
    this.status = status;
    if (status.loading) this.reload();
    else if (wasLoading) this.queries.invalidate(runsQuery);
  }

  #apply(delta: DeltaEvent): void {
    this.cursor = delta.cursor;
    this.#setRuns({
      runs: this.isLarge ? [] : applyDelta(this.runs, delta),
      totals: this.#largeTotals,
    });
    const names = [...delta.added, ...delta.changed].map(({ name }) => name);
    names.push(...delta.removed);
    for (const name of names) this.#bumpRevision(name);
    this.queries.revisions.markRuns(names);
    if (delta.added.length + delta.changed.length > 0) this.changedAt = Date.now();
  }

  #bumpRevision(name: string): void {
    this.#revisions.set(name, (this.#revisions.get(name) ?? 0) + 1);
  }

  /** The server sends runs in natural order; sorting 100,000 again takes half a second. */
  #setRuns({ runs, totals }: Pick<RunsResponse, 'runs' | 'totals'>): void {
    this.runs = runs;
    this.#largeTotals = totals ?? null;
    this.#revision++;
  }

  #showStatus(info: StatusResponse): void {
    this.serverInfo = info;
    this.status ??= info.status;
  }

  /** The first response tells where the stream begins; later ones replace everything. */
  #showRuns(response: RunsResponse): void {
    if (response === this.#response) return;
    const isFirst = this.#response === undefined;
    this.#response = response;
    this.#setRuns(response);
    if (isFirst) this.cursor = response.cursor;
    else {
      for (const run of this.runs) this.#bumpRevision(run.name);
      this.queries.revisions.markRuns(null);
    }
  }
}

/** Return the runs after a change, in natural order. */
export function applyDelta(
  runs: readonly RunRow[],
  delta: Pick<DeltaEvent, 'added' | 'removed' | 'changed'>,
): RunRow[] {
  const removed = new Set(delta.removed);
  const pending = new Map([...delta.added, ...delta.changed].map((run) => [run.name, run]));
  const kept = runs.filter((run) => !removed.has(run.name));
  const updated = kept.map((run) => pending.get(run.name) ?? run);
  for (const run of kept) pending.delete(run.name);
  // Most changes are points of known runs, which stay in their place.
  if (pending.size === 0) return updated;
  return sortNatural([...updated, ...pending.values()], ({ name }) => name);
}

/** The runs of a large log that the page shows, and the totals of all. */
interface LoadedRuns {
  readonly runs: readonly RunRow[];
  readonly totals: RunTotals | undefined;
}

/** Return the totals of all runs. The time of the last point is that of the writers' clocks. */
function computeRunTotals(runs: readonly RunRow[]): RunTotals {
  let points = 0;
  let damaged = 0;
  let last = -Infinity;
  for (const run of runs) {
    points += run.points;
    damaged += run.damaged;
    last = Math.max(last, parseTimestamp(run.last_wall)?.getTime() ?? last);
  }
  return { runs: runs.length, points, damaged, last_wall: last === -Infinity ? null : last / 1000 };
}

const tagsQuery = defineQuery('GET tags', {
  scope: 'log',
  select: ({ tags }) => sortTags(tags),
  minRefreshMs: REFRESH_MS,
  priority: 'high',
});
const tagNamesQuery = defineQuery('POST tags', { scope: ({ runs }) => ({ runs }) });

/** The tags of all runs. */
export class LogTags implements Tags {
  /** In natural order. */
  rows = $state.raw<readonly TagRow[]>([]);
  error = $state.raw<Problem | null>(null);
  /** True after the first response. */
  isReady = $state(false);

  readonly #queries: QueryCache;

  constructor(queries: QueryCache) {
    this.#queries = queries;
  }

  /** Load the tags together with the runs: no chart can be requested before. */
  start(): void {
    new QueryObserver(this.#queries, tagsQuery, {}, ({ data, error }) => {
      if (data) this.rows = data;
      // Known tags stay; the connection status reports an unreachable server.
      this.error = data ? null : (error?.problem ?? null);
      if (data || error) this.isReady = true;
    }).setRequest({});
  }

  async listNames(runs: readonly string[], signal?: AbortSignal): Promise<readonly string[]> {
    return (await this.#queries.fetch(tagNamesQuery, { runs }, signal ? { signal } : {})).tags;
  }
}

const damagedFilesQuery = defineQuery('GET files', { scope: 'log' });

/** Files with damaged records. */
export class DamagedFiles {
  files = $state.raw<readonly FileRow[]>([]);
  readonly #queries: QueryCache;
  readonly #dismissedCount: Param<number>;
  #requestCount = 0;

  constructor(queries: QueryCache, preferences: Preferences) {
    this.#queries = queries;
    this.#dismissedCount = preferences.param('read-errors-dismissed', number(0), 0);
  }

  /** The notice is shown if there are more damaged records than this. */
  get dismissedCount(): number {
    return this.#dismissedCount.value;
  }

  dismiss(count: number): void {
    this.#dismissedCount.set(count);
  }

  async load(damagedCount: number): Promise<void> {
    const request = ++this.#requestCount;
    try {
      const response =
        damagedCount > 0 ? await this.#queries.fetch(damagedFilesQuery, { damaged: true }) : null;
      if (request === this.#requestCount) this.files = response?.files ?? [];
    } catch (error) {
      // The number of damaged records is known without the list of files.
      toProblem(error);
    }
  }
}

/** What the top bar shows about the connection to the server. */
interface ConnectionStatus {
  readonly kind: 'static' | 'connecting' | 'loading' | 'live' | 'idle' | 'paused' | 'lost';
  readonly label: string;
  readonly detail: string;
  readonly tooltip: string;
  /** From 0 to 1 while a log is loaded. */
  readonly progress: number | null;
}

export interface ConnectionInput {
  readonly connection: 'connecting' | 'open' | 'lost';
  readonly status: LoadStatus | null;
  readonly paused: boolean;
  /** Time of the last change in ms, by the clock of the page. */
  readonly changedAt: number | null;
  readonly lastPoint: Date | null;
  readonly now: number;
  /** When the static export was made; null if there is a server. */
  readonly exportedAt: Date | null;
}

/** A log without new points for this long is idle. */
const IDLE_AFTER_S = 60;

const EMPTY = { detail: '', tooltip: '', progress: null };

export function getConnectionStatus(input: ConnectionInput): ConnectionStatus {
  if (input.exportedAt) return describeExport(input.exportedAt, input.now);
  if (input.connection === 'lost') {
    return {
      kind: 'lost',
      label: common.errorNetworkMessage,
      detail: m.connectionLostDetail,
      tooltip: m.connectionLostTooltip,
      progress: null,
    };
  }
  if (!input.status) return { ...EMPTY, kind: 'connecting', label: m.connectionConnectingLabel };
  if (input.paused) {
    const tooltip = m.connectionPausedTooltip;
    return { ...EMPTY, kind: 'paused', label: m.connectionPausedLabel, tooltip };
  }
  return input.status.loading ? describeLoading(input.status) : describeActivity(input);
}

function describeExport(exportedAt: Date, now: number): ConnectionStatus {
  return {
    kind: 'static',
    label: m.connectionStaticLabel,
    detail: m.connectionStaticDetail({ time: formatTimeOrDate(exportedAt, new Date(now)) }),
    tooltip: m.connectionStaticTooltip({ time: formatDateTime(exportedAt) }),
    progress: null,
  };
}

function describeLoading({ progress }: LoadStatus): ConnectionStatus {
  const { files_done, files_total, bytes_done, bytes_total } = progress;
  const files = m.connectionLoadingFiles({ done: files_done, total: files_total });
  const bytes = formatProgress(bytes_done, bytes_total);
  return {
    kind: 'loading',
    label: common.loading,
    detail: bytes_total > 0 ? m.connectionLoadingDetail({ files, bytes }) : '',
    tooltip: files_total > 0 ? m.connectionLoadingTooltip({ files, bytes }) : common.scanningLogs,
    progress: bytes_total > 0 ? bytes_done / bytes_total : 0,
  };
}

function describeActivity({ changedAt, lastPoint, now }: ConnectionInput): ConnectionStatus {
  // The clock of a writer may be ahead of this one.
  const latest = Math.min(now, Math.max(changedAt ?? -Infinity, lastPoint?.getTime() ?? -Infinity));
  if (latest === -Infinity) {
    const tooltip = m.connectionLiveWaiting;
    return {
      ...EMPTY,
      kind: 'live',
      label: m.connectionLiveLabel,
      detail: m.connectionLiveEmpty,
      tooltip,
    };
  }
  const time = new Date(latest);
  const tooltip = m.connectionLiveTooltip({ time: formatDateTime(time) });
  const age_s = (now - latest) / 1000;
  if (age_s < IDLE_AFTER_S)
    return {
      ...EMPTY,
      kind: 'live',
      label: m.connectionLiveLabel,
      detail: formatAgo(age_s),
      tooltip,
    };
  const detail = m.connectionIdleDetail({ time: formatTimeOrDate(time, new Date(now)) });
  return { ...EMPTY, kind: 'idle', label: m.connectionIdleLabel, detail, tooltip };
}
