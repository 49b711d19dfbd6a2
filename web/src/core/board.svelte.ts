import { SvelteMap } from 'svelte/reactivity';

import { getRuns, getStatus, problemOf } from '../api/client';
import { followLive } from '../api/live';
import type { Delta, Problem, RunRow, Status, StatusAnswer } from '../api/types';
import { flag } from '../base/codec';
import { Pace } from '../base/pace';
import type { Live } from '../plugin/context';
import { address } from './address.svelte';
import { applyDelta, inOrder } from './delta';
import { sumUp } from './totals';

export type Connection = 'connecting' | 'open' | 'lost';

const LIST_PAUSE_MS = 1000;
/** A server that was not there when the page was opened is looked for again after this. */
const START_AGAIN_MS = 10_000;

/** The runs of the log and how the server stands, kept up to date by its live stream. */
class Board implements Live {
  connection = $state<Connection>('connecting');
  /** Why there is nothing to show; null once there was an answer. */
  problem = $state.raw<Problem | null>(null);
  /** True once there was an answer to go on from. */
  started = $state(false);
  about = $state.raw<StatusAnswer | null>(null);
  status = $state.raw<Status | null>(null);
  /** In natural order. */
  runs = $state.raw<readonly RunRow[]>([]);
  /** Since when the server does not answer, in milliseconds. */
  lostAt = $state<number | null>(null);
  /** When points came in while the page was open, in milliseconds. */
  changedAt = $state<number | null>(null);

  readonly totals = $derived(sumUp(this.runs));

  /** Grows whenever anything does. */
  #revision = $state(0);
  readonly #revisions = new SvelteMap<string, number>();
  readonly #listing = new Pace(() => this.#list(), LIST_PAUSE_MS);
  readonly #paused = address.param('paused', flag, false);
  #again: ReturnType<typeof setTimeout> | undefined;
  /** Where the log stood when it was last asked about. */
  cursor = '';
  readonly #listeners: Record<string, ((body: unknown) => void)[]> = {};

  get paused(): boolean {
    return this.#paused.value;
  }

  get loading(): boolean {
    return this.status?.loading ?? true;
  }

  async start(): Promise<void> {
    clearTimeout(this.#again);
    this.connection = 'connecting';
    try {
      const [about, list] = await Promise.all([getStatus(), getRuns()]);
      this.about = about;
      this.status = about.status;
      this.#setRuns(inOrder(list.runs));
      this.cursor = list.cursor;
      this.problem = null;
      this.#setConnection('open');
      this.started = true;
    } catch (error) {
      this.problem = problemOf(error);
      this.connection = 'lost';
      this.#again = setTimeout(() => void this.start(), START_AGAIN_MS);
    }
  }

  /** While paused the picture stands still; going on tells all that happened meanwhile. */
  pause(paused: boolean): void {
    this.#paused.set(paused);
  }

  /** Listens to the server from where the picture stands, until the function it returns is called. */
  follow(): () => void {
    return followLive(this.cursor, {
      onOpen: () => this.#setConnection('open'),
      onLost: () => this.#setConnection('lost'),
      onStatus: (status) => this.#setStatus(status),
      onDelta: (delta) => this.#apply(delta),
      onReset: (cursor) => {
        this.cursor = cursor;
        this.#listing.askNow();
        this.#say('reset', null);
      },
      onOther: (name, body) => this.#say(name, body),
    });
  }

  /** Calls `handle` when the server says something by that name, or `reset` when all is new. */
  on(name: string, handle: (body: unknown) => void): void {
    (this.#listeners[name] ??= []).push(handle);
  }

  /** Looks again at what can change without a run having changed. */
  refresh(): void {
    this.#listing.ask();
  }

  /** A number that changes when the run, or with null any run, has changed. */
  revisionOf(run: string | null): number {
    return run === null ? this.#revision : (this.#revisions.get(run) ?? 0);
  }

  #say(name: string, body: unknown): void {
    this.#listeners[name]?.forEach((handle) => handle(body));
  }

  #setConnection(connection: Connection): void {
    this.connection = connection;
    this.lostAt = connection === 'lost' ? (this.lostAt ?? Date.now()) : null;
  }

  #setStatus(status: Status): void {
    const wasLoading = this.status?.loading;
    this.status = status;
    if (status.loading) this.#listing.ask();
    else if (wasLoading) this.#listing.askNow();
  }

  #apply(delta: Delta): void {
    this.cursor = delta.cursor;
    this.#setRuns(applyDelta(this.runs, delta));
    for (const run of [...delta.added, ...delta.changed]) this.#touch(run.name);
    for (const name of delta.removed) this.#touch(name);
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
      this.about = about;
      this.#setRuns(inOrder(list.runs));
      for (const run of list.runs) this.#touch(run.name);
    } catch {
      // Whether the server is gone is for the stream to tell.
      this.#listing.ask();
    }
  }
}

export const board = new Board();
