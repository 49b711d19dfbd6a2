import { SvelteMap } from 'svelte/reactivity';

import { getDamagedFiles, getRuns, getStatus, getTagNames, getTags } from '../api/client';
import { toProblem } from '../api/errors';
import { subscribeToLive } from '../api/live-updates';
import { RequestScheduler } from '../api/request-scheduler';
import type {
  DeltaEvent,
  FileRow,
  LoadStatus,
  Problem,
  RunRow,
  StatusResponse,
  TagRow,
} from '../api/schemas';
import { flag, number } from '../lib/codecs';
import { sortTags } from '../lib/grouping';
import type { Live, Tags } from '../plugin/context';
import { preferences } from './preferences.svelte';
import { queries } from './queries';
import { applyDelta, computeRunTotals, sortRuns } from './run-list';
import { pageUrl } from './url.svelte';

export type Connection = 'connecting' | 'open' | 'lost';

const RUNS_REFRESH_MS = 1000;
/** A server that was not there when the page was opened is looked for again after this. */
const RETRY_START_MS = 10_000;

/** The runs of the log and how the server stands, kept up to date by its live stream. */
class LiveLog implements Live {
  connection = $state<Connection>('connecting');
  /** Why there is nothing to show; null once there was an answer. */
  error = $state.raw<Problem | null>(null);
  /** True once there was an answer to go on from. */
  isStarted = $state(false);
  serverInfo = $state.raw<StatusResponse | null>(null);
  status = $state.raw<LoadStatus | null>(null);
  /** In natural order. */
  runs = $state.raw<readonly RunRow[]>([]);
  /** Since when the server does not answer, in milliseconds. */
  lostAt = $state<number | null>(null);
  /** When points came in while the page was open, in milliseconds. */
  changedAt = $state<number | null>(null);

  readonly totals = $derived(computeRunTotals(this.runs));

  /** Grows whenever anything does. */
  #revision = $state(0);
  readonly #revisions = new SvelteMap<string, number>();
  readonly #listing = new RequestScheduler(() => this.#list(), RUNS_REFRESH_MS);
  readonly #paused = pageUrl.param('paused', flag, false);
  #again: ReturnType<typeof setTimeout> | undefined;
  /** Where the log stood when it was last asked about. */
  cursor = '';
  readonly #listeners: Record<string, ((body: unknown) => void)[]> = {};

  get isPaused(): boolean {
    return this.#paused.value;
  }

  get isLoading(): boolean {
    return this.status?.loading ?? true;
  }

  async start(): Promise<void> {
    clearTimeout(this.#again);
    this.connection = 'connecting';
    try {
      const [about, list] = await Promise.all([getStatus(), getRuns()]);
      this.serverInfo = about;
      this.status = about.status;
      this.#setRuns(sortRuns(list.runs));
      this.cursor = list.cursor;
      this.error = null;
      this.#setConnection('open');
      this.isStarted = true;
    } catch (error) {
      this.error = toProblem(error);
      this.connection = 'lost';
      this.#again = setTimeout(() => void this.start(), RETRY_START_MS);
    }
  }

  /** While paused the picture stands still; going on tells all that happened meanwhile. */
  setPaused(paused: boolean): void {
    this.#paused.set(paused);
  }

  /** Listens to the server from where the picture stands, until the function it returns is called. */
  subscribe(): () => void {
    return subscribeToLive(this.cursor, {
      onOpen: () => {
        this.#setConnection('open');
        queries.reconnect();
      },
      onLost: () => this.#setConnection('lost'),
      onStatus: (status) => this.#setStatus(status),
      onDelta: (delta) => this.#apply(delta),
      onReset: (cursor) => {
        this.cursor = cursor;
        this.#listing.scheduleNow();
        queries.markLog();
        this.#say('reset', null);
      },
      onEvent: (name, body) => {
        queries.markEvent(name);
        this.#say(name, body);
      },
    });
  }

  /** Calls `handle` when the server says something by that name, or `reset` when all is new. */
  on(name: string, handle: (body: unknown) => void): void {
    (this.#listeners[name] ??= []).push(handle);
  }

  /** Looks again at what can change without a run having changed. */
  refresh(): void {
    this.#listing.schedule();
  }

  /** A number that changes when the run, or with null any run, has changed. */
  getRevision(run: string | null): number {
    return run === null ? this.#revision : (this.#revisions.get(run) ?? 0);
  }

  #say(name: string, body: unknown): void {
    this.#listeners[name]?.forEach((handle) => handle(body));
  }

  #setConnection(connection: Connection): void {
    this.connection = connection;
    this.lostAt = connection === 'lost' ? (this.lostAt ?? Date.now()) : null;
  }

  #setStatus(status: LoadStatus): void {
    const wasLoading = this.status?.loading;
    this.status = status;
    if (status.loading) this.#listing.schedule();
    else if (wasLoading) this.#listing.scheduleNow();
  }

  #apply(delta: DeltaEvent): void {
    this.cursor = delta.cursor;
    this.#setRuns(applyDelta(this.runs, delta));
    const names = [...delta.added, ...delta.changed].map(({ name }) => name);
    names.push(...delta.removed);
    for (const name of names) this.#touch(name);
    queries.markRuns(names);
    if (delta.added.length + delta.changed.length > 0) this.changedAt = Date.now();
  }

  #touch(name: string): void {
    this.#revisions.set(name, (this.#revisions.get(name) ?? 0) + 1);
  }

  /** The runs have to come in natural order. */
  #setRuns(runs: readonly RunRow[]): void {
    this.runs = runs;
    this.#revision++;
  }

  async #list(): Promise<void> {
    try {
      const [about, list] = await Promise.all([getStatus(), getRuns()]);
      this.serverInfo = about;
      this.#setRuns(sortRuns(list.runs));
      for (const run of list.runs) this.#touch(run.name);
      queries.markLog();
    } catch {
      // Whether the server is gone is for the stream to tell.
      this.#listing.schedule();
    }
  }
}

export const liveLog = new LiveLog();

const TAGS_REFRESH_MS = 1000;

/** The tags of all runs. */
class LogTags implements Tags {
  /** In natural order. */
  rows = $state.raw<readonly TagRow[]>([]);
  error = $state.raw<Problem | null>(null);
  /** False until the first answer. */
  isReady = $state(false);

  readonly #loading = new RequestScheduler(() => this.#load(), TAGS_REFRESH_MS);
  #cursor = '';

  /** Asks at once, beside what else the page begins with: no chart can be asked for before. */
  start(): void {
    this.#loading.startNow();
  }

  refresh(): void {
    this.#loading.schedule();
  }

  retry(): void {
    this.#loading.scheduleNow();
  }

  async listNames(runs: readonly string[], signal?: AbortSignal): Promise<readonly string[]> {
    return (await getTagNames(runs, signal)).tags;
  }

  async #load(): Promise<void> {
    // What was asked for before the picture was told to stand still must not move it now.
    if (this.isReady && (liveLog.isPaused || this.#isNewest())) return;
    try {
      const { tags, cursor } = await getTags();
      this.rows = sortTags(tags);
      this.#cursor = cursor;
      this.error = null;
    } catch (error) {
      // What was known is still worth more than an error, and the live mark tells of a lost server.
      if (this.rows.length === 0) this.error = toProblem(error);
    }
    this.isReady = true;
  }

  /** While a log is read for the first time its tags grow, though it is at no other place. */
  #isNewest(): boolean {
    return !liveLog.isLoading && liveLog.cursor === this.#cursor;
  }
}

export const tags = new LogTags();

/** The damaged files of all runs, told until somebody has heard it. */
class DamagedFiles {
  files = $state.raw<readonly FileRow[]>([]);
  readonly #heard = preferences.param('damage-heard', number(0), 0);
  #asked = 0;

  /** More damage than this is told; what is known is no longer news. */
  get dismissedCount(): number {
    return this.#heard.value;
  }

  dismiss(damaged: number): void {
    this.#heard.set(damaged);
  }

  async load(damaged: number): Promise<void> {
    const asked = ++this.#asked;
    try {
      const files = damaged > 0 ? (await getDamagedFiles()).files : [];
      if (asked === this.#asked) this.files = files;
    } catch {
      // The count of damaged records is shown anyway, and the live mark tells of a lost server.
    }
  }
}

export const damagedFiles = new DamagedFiles();
