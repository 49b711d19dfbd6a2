import {
  Connection,
  getRetryDelayMs,
  NetworkError,
  QueryError,
  ServerError,
  TOO_MANY_REQUESTS,
} from './errors';
import {
  type AnyDefinition,
  type Priority,
  type QueryDefinition,
  type RequestOf,
  type ResponseOf,
  type RouteName,
} from './query-definition';
import {
  type Entry,
  EntryTable,
  type Flight,
  type Group,
  NEVER,
  type Watcher,
} from './query-entries';
import { makeWireRequest, type Transport } from './transport';

/** A browser allows six connections per server. Requests of lower priority leave some of them free. */
const MAX_IN_FLIGHT: Readonly<Record<Priority, number>> = { high: 6, normal: 5, low: 2 };
const PRIORITIES: readonly Priority[] = ['high', 'normal', 'low'];
const DEFAULT_MIN_REFRESH_MS = 1000;
/** A slow log is polled less often: the pause is this many times the duration of the last request. */
const PAUSE_FACTOR = 5;

export interface CacheOptions {
  readonly transport: Transport;
  /** Resolves when what has arrived is on the screen. */
  readonly afterPaint?: () => Promise<unknown>;
}

/**
 * Fetches and caches what the page shows. Requests are batched, shared, canceled when nothing needs
 * them, limited in number and repeated after failures; data is refreshed when its revision changes.
 *
 * Knows neither Svelte nor the DOM; `createQuery` makes it reactive.
 */
export class QueryCache {
  readonly transport: Transport;
  readonly #afterPaint: () => Promise<unknown>;
  readonly #entries = new EntryTable();
  /** In the order of subscription: cards subscribe from top to bottom. */
  readonly #watched = new Set<Entry>();
  readonly #flights = new Set<Flight>();
  readonly #connection = new Connection();
  #isPaused = false;
  #isDisposed = false;
  #isFlushScheduled = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ transport, afterPaint }: CacheOptions) {
    this.transport = transport;
    this.#afterPaint = afterPaint ?? (() => Promise.resolve());
  }

  // ---- Reading

  /**
   * Return up-to-date data, from the cache if possible.
   *
   * Rejects with a `QueryError`, or with an AbortError when `signal` is aborted. The request itself
   * is aborted only if no other caller waits for it.
   */
  fetch<Request, Data>(
    definition: QueryDefinition<Request, Data>,
    request: Request,
    { signal, priority }: { signal?: AbortSignal; priority?: Priority } = {},
  ): Promise<Data> {
    return new Promise((resolve, reject) => {
      let isAttempted = false;
      const finish = (): void => {
        signal?.removeEventListener('abort', abort);
        this.release(entry, watcher);
      };
      const abort = (): void => {
        finish();
        reject(signal?.reason as Error);
      };
      const watcher: Watcher = {
        priority: priority ?? definition.priority ?? 'normal',
        onChange: () => {
          // An error from before the call is no reason to reject: this is another attempt.
          isAttempted ||= entry.flight !== null;
          const hasFailed = isAttempted && entry.flight === null;
          const error =
            entry.bug?.error ?? entry.error ?? (hasFailed ? this.getError(entry) : null);
          if (error === null && (entry.flight || !this.#entries.isFresh(entry))) return;
          finish();
          if (error === null) resolve(entry.data as Data);
          else reject(error as Error);
        },
      };
      const entry = this.acquire(definition, request, watcher);
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort);
      // While updates are paused a stale entry would not be fetched.
      if (!this.#entries.isFresh(entry) && !entry.flight) entry.revision = NEVER;
      if (this.#connection.error !== null && watcher.priority !== 'low') this.reconnect();
      watcher.onChange(entry);
    });
  }

  /** Return cached data, which may be stale; does not fetch. */
  peek<Request, Data>(
    definition: QueryDefinition<Request, Data>,
    request: Request,
  ): Data | undefined {
    return this.#entries.find(definition, request)?.data as Data | undefined;
  }

  /** Fetch what will probably be needed; failures are reported to whoever needs it then. */
  prefetch<Request, Data>(
    definition: QueryDefinition<Request, Data>,
    request: Request,
    priority: Priority = 'low',
  ): void {
    this.fetch(definition, request, { priority }).catch(() => undefined);
  }

  supports(route: string): boolean {
    return this.transport.supports(route);
  }

  // ---- Writing

  /** Change something on the server. Never repeated. */
  async mutate<Name extends RouteName>(
    route: Name,
    request: RequestOf<Name>,
    { signal = new AbortController().signal }: { signal?: AbortSignal } = {},
  ): Promise<ResponseOf<Name>> {
    const wire = { ...makeWireRequest(route, request), isMutation: true };
    return (await this.transport.send(wire, signal)) as ResponseOf<Name>;
  }

  /** Store data that is known without a request: the response of a mutation, an optimistic change. */
  set<Request, Data>(
    definition: QueryDefinition<Request, Data>,
    request: Request,
    data: Data,
  ): void {
    const entry = this.#entries.get(definition, request);
    if (entry.flight) this.#abort(entry.flight);
    this.#entries.store(entry, data, this.#entries.getRevision(entry));
    this.#notify(entry);
    this.#schedule();
  }

  /** Mark all entries of a definition as stale, and fetch again those in use. */
  invalidate(definition: AnyDefinition): void {
    for (const entry of this.#entries.list(definition)) {
      entry.revision = NEVER;
      // A response under way was computed before the change.
      if (entry.flight) this.#abort(entry.flight);
    }
    this.#schedule();
  }

  // ---- Changes of the log and of the connection

  markRuns(names: Iterable<string> | null): void {
    this.#entries.revisions.markRuns(names);
    this.#schedule();
  }

  markLog(): void {
    this.#entries.revisions.markLog();
    this.#schedule();
  }

  markEvent(name: string): void {
    this.#entries.revisions.markEvent(name);
    this.#schedule();
  }

  /** While paused, only what is not shown yet is fetched. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#schedule();
  }

  /** The network may be back: try at once instead of waiting for the next attempt. */
  reconnect(): void {
    this.#connection.retryAt = 0;
    this.#schedule();
  }

  dispose(): void {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    for (const flight of [...this.#flights]) this.#abort(flight);
    this.#watched.clear();
    this.#entries.clear();
  }

  // ---- For observers

  acquire(definition: AnyDefinition, request: unknown, watcher: Watcher): Entry {
    const entry = this.#entries.get(definition, request);
    if (entry.watchers.size === 0) {
      // Another attempt: an error is not worth keeping.
      if (entry.error || entry.bug) [entry.error, entry.bug, entry.revision] = [null, null, NEVER];
      this.#watched.add(entry);
    }
    entry.watchers.add(watcher);
    this.#schedule();
    return entry;
  }

  release(entry: Entry, watcher: Watcher): void {
    entry.watchers.delete(watcher);
    if (entry.watchers.size > 0) return;
    this.#watched.delete(entry);
    const { flight } = entry;
    // A card that is moved on the page is removed and added again at once.
    if (flight) setTimeout(() => this.#abortIfUnused(flight));
    this.#entries.evict(entry.group);
  }

  retry(entry: Entry): void {
    [entry.error, entry.bug, entry.revision, entry.notBefore] = [null, null, NEVER, 0];
    this.#notify(entry);
    this.reconnect();
  }

  makeKey(definition: AnyDefinition, request: unknown): string {
    return this.#entries.makeKey(definition, request);
  }

  getError(entry: Entry): QueryError | null {
    return entry.error ?? (this.#entries.isFresh(entry) ? null : this.#connection.error);
  }

  // ---- Scheduling

  /** Flush after the current task, so that all cards that appear together share requests. */
  #schedule(): void {
    if (this.#isFlushScheduled || this.#isDisposed) return;
    this.#isFlushScheduled = true;
    queueMicrotask(() => {
      this.#isFlushScheduled = false;
      if (!this.#isDisposed) this.#flush();
    });
  }

  #flush(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    let wakeAt = Infinity;
    const due: Entry[] = [];
    for (const entry of this.#watched) {
      const dueAt = Math.max(this.#getDueTime(entry), this.#connection.retryAt);
      if (dueAt <= now) due.push(entry);
      else wakeAt = Math.min(wakeAt, dueAt);
    }
    for (const priority of PRIORITIES) {
      const own = due.filter((entry) => getPriority(entry) === priority);
      for (const entry of own) {
        if (!entry.flight && this.#canSend(entry.group, priority)) {
          this.#send(this.#pickBatch(entry, due), now);
        }
      }
    }
    if (wakeAt < Infinity) this.#timer = setTimeout(() => this.#flush(), wakeAt - now);
  }

  /** Return when the entry is to be fetched; Infinity if it need not be. */
  #getDueTime(entry: Entry): number {
    const { group, flight, revision, notBefore, pollAt, attemptedAt } = entry;
    if (flight) return Infinity;
    if (revision === NEVER) return notBefore;
    const nextPoll = Math.max(pollAt, notBefore);
    if (this.#isPaused || this.#entries.isFresh(entry)) return nextPoll;
    const isNext = attemptedAt < group.waveStart;
    return Math.min(nextPoll, Math.max(notBefore, isNext ? 0 : group.restUntil));
  }

  #canSend({ definition, inFlight }: Group, priority: Priority): boolean {
    if (this.#connection.isProbing) return false;
    if (this.#flights.size >= MAX_IN_FLIGHT[priority]) return false;
    return inFlight < (definition.batch ? 1 : Infinity);
  }

  #pickBatch(first: Entry, due: readonly Entry[]): Entry[] {
    const { group, sharedId, request } = first;
    const { batch } = group.definition;
    if (!batch || first.isAlone) return [first];
    const limit = (group.isFirst ? batch.firstItems : undefined) ?? batch.maxItems;
    const size = typeof limit === 'number' ? limit : limit(request);
    const others = due.filter(
      (entry) =>
        entry !== first &&
        entry.group === group &&
        entry.sharedId === sharedId &&
        !entry.flight &&
        !entry.isAlone,
    );
    return [first, ...others.slice(0, Math.max(0, size - 1))];
  }

  // ---- Requests

  #send(entries: readonly Entry[], now: number): void {
    const [{ group }] = entries as [Entry];
    const controller = new AbortController();
    const isProbe = this.#connection.error !== null;
    const flight = { group, entries, controller, isProbe };
    this.#connection.isProbing = isProbe;
    if (entries.some(({ revision }) => revision !== NEVER) && group.restUntil <= now) {
      group.waveStart = now;
    }
    this.#flights.add(flight);
    group.inFlight++;
    for (const entry of entries) {
      // `pollAt` stays: a poll that is aborted or fails for a while is still due.
      [entry.flight, entry.attemptedAt] = [flight, now];
      entry.sentRevision = this.#entries.getRevision(entry);
      this.#notify(entry);
    }
    void this.#run(flight, now);
  }

  /** Never rejects: an exception must not stop the queue. */
  async #run(flight: Flight, startedAt: number): Promise<void> {
    const { group, entries, controller } = flight;
    let results: readonly Result[];
    let isSplit = false;
    try {
      results = await this.#request(flight);
    } catch (error) {
      results = entries.map(() => ({ error }));
      isSplit = entries.length > 1 && isRefusal(error);
    }
    if (controller.signal.aborted) return;
    const { minRefreshMs = DEFAULT_MIN_REFRESH_MS, batch } = group.definition;
    const endedAt = performance.now();
    group.restUntil = endedAt + Math.max(minRefreshMs, PAUSE_FACTOR * (endedAt - startedAt));
    this.#updateConnection(flight, results[0]);
    for (const [at, entry] of entries.entries()) {
      entry.flight = null;
      if (isSplit) [entry.isAlone, entry.revision] = [true, NEVER];
      else this.#settle(entry, results[at] as Result);
    }
    const bugs = new Set(entries.flatMap(({ bug }) => (bug ? [bug.error] : [])));
    // To the console and to the page's list of errors.
    for (const error of bugs) reportError(error);
    for (const entry of entries) this.#notify(entry);
    const wasFirst = group.isFirst && batch?.firstItems !== undefined;
    group.isFirst = false;
    this.#flights.delete(flight);
    if (wasFirst) await this.#afterPaint();
    group.inFlight--;
    this.#entries.evict(group);
    this.#schedule();
  }

  async #request({ group, entries, controller }: Flight): Promise<readonly Result[]> {
    const { route, batch, select, update, isFile = false } = group.definition;
    const requests = entries.map(({ request }) => request);
    const sent = entries.map(({ request, hasData, data }) =>
      update && hasData ? (update.request(request, data) as unknown) : request,
    );
    const wire = makeWireRequest(route, batch ? batch.join(sent) : sent[0], isFile);
    const response = await this.transport.send(wire, controller.signal);
    if (controller.signal.aborted) return [];
    const items = batch ? batch.split(response, requests) : [response];
    return entries.map(({ request, hasData, data }, at) => {
      if (!(at in items)) return { error: new RangeError('a batch returned too few items') };
      const item = items[at];
      if (item instanceof ServerError) return { error: item };
      try {
        if (update && hasData) return { data: update.merge(data, item) as unknown };
        return { data: select ? (select(item, request) as unknown) : item };
      } catch (error) {
        return { error };
      }
    });
  }

  #settle(entry: Entry, result: Result): void {
    try {
      if ('error' in result) this.#fail(entry, result.error);
      else this.#entries.store(entry, result.data, entry.sentRevision);
    } catch (error) {
      entry.bug = { error };
      [entry.revision, entry.failures, entry.pollAt] = [entry.sentRevision, 0, Infinity];
    }
  }

  /** Rethrows programming errors. */
  #fail(entry: Entry, error: unknown): void {
    // Without a connection the entry stays due; `getError` reports the lost connection.
    if (error instanceof NetworkError) return;
    if (error instanceof ServerError) {
      const data: unknown = entry.group.definition.recover?.(error);
      if (data !== undefined) return this.#entries.store(entry, data, entry.sentRevision);
      const delay = getRetryDelayMs(error, ++entry.failures);
      if (delay !== null) {
        entry.notBefore = performance.now() + delay;
        return;
      }
    }
    if (!(error instanceof QueryError)) throw error;
    entry.error = error;
    [entry.revision, entry.failures, entry.pollAt] = [entry.sentRevision, 0, Infinity];
  }

  #updateConnection({ isProbe }: Flight, result: Result | undefined): void {
    const error = result && 'error' in result ? result.error : null;
    if (!this.#connection.update(error, isProbe)) return;
    for (const entry of [...this.#watched]) this.#notify(entry);
  }

  #abortIfUnused(flight: Flight): void {
    const isUsed = flight.entries.some(({ watchers }) => watchers.size > 0);
    if (!isUsed && this.#flights.has(flight)) this.#abort(flight);
  }

  #abort(flight: Flight): void {
    flight.controller.abort();
    this.#flights.delete(flight);
    flight.group.inFlight--;
    for (const entry of flight.entries) entry.flight = null;
    if (flight.isProbe) this.#connection.isProbing = false;
    this.#schedule();
  }

  #notify(entry: Entry): void {
    for (const watcher of [...entry.watchers]) watcher.onChange(entry);
  }
}

type Result = { readonly data: unknown } | { readonly error: unknown };

/** Whether the server finds fault with a request: with several in a batch, one of them is bad. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ServerError) || error.status === TOO_MANY_REQUESTS) return false;
  return error.status >= 400 && error.status < 500;
}

function getPriority({ watchers }: Entry): Priority {
  const given = new Set([...watchers].map(({ priority }) => priority));
  return PRIORITIES.find((priority) => given.has(priority)) ?? 'normal';
}
