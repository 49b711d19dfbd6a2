import {
  Connection,
  getRetryDelayMs,
  NetworkError,
  type QueryError,
  ServerError,
  TOO_MANY_REQUESTS,
} from './errors';
import type {
  AnyDefinition,
  Priority,
  QueryDefinition,
  RequestOf,
  ResponseOf,
  RouteName,
} from './query-definition';
import {
  Entry,
  type Flight,
  Group,
  NEVER,
  PRIORITIES,
  Revisions,
  type Watcher,
} from './query-entries';
import { makeWireRequest, type Transport } from './transport';

/** A browser allows six connections per server. Requests of lower priority leave some of them free. */
const MAX_IN_FLIGHT: Readonly<Record<Priority, number>> = { high: 6, normal: 5, low: 2 };
const DEFAULT_MIN_REFRESH_MS = 1000;
/** A slow log is polled less often: the pause is this many times the duration of the last request. */
const PAUSE_FACTOR = 5;
const MAX_SHARED_IDS = 256;

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
  /** Mark here what has changed; observed data is fetched again. */
  readonly revisions = new Revisions(() => this.#schedule());
  readonly #afterPaint: (() => Promise<unknown>) | undefined;
  readonly #groups = new Map<AnyDefinition, Group>();
  /** In the order of subscription: cards subscribe from top to bottom. */
  readonly #watched = new Set<Entry>();
  readonly #flights = new Set<Flight>();
  readonly #connection = new Connection();
  readonly #sharedIds = new WeakMap<object, number>();
  readonly #idsByText = new Map<string, number>();
  #idCount = 0;
  #isPaused = false;
  #isDisposed = false;
  #isFlushScheduled = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ transport, afterPaint }: CacheOptions) {
    this.transport = transport;
    this.#afterPaint = afterPaint;
  }

  supports(route: string): boolean {
    return this.transport.supports(route);
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
    { signal, priority = definition.priority ?? 'normal' }: FetchOptions = {},
  ): Promise<Data> {
    return new Promise((resolve, reject) => {
      let isAttempted = false;
      const finish = (settle: () => void): void => {
        signal?.removeEventListener('abort', abort);
        this.release(entry, watcher);
        settle();
      };
      const abort = (): void => finish(() => reject(signal?.reason as Error));
      const onChange = (): void => {
        // A lost connection from before the call is no reason to reject: this is another attempt.
        isAttempted ||= entry.flight !== null;
        const lost = isAttempted && !entry.flight ? this.getError(entry) : null;
        const failure = entry.failure ?? (lost && { error: lost });
        if (failure) finish(() => reject(failure.error as Error));
        else if (!entry.flight && this.#isFresh(entry)) finish(() => resolve(entry.data as Data));
      };
      const watcher = { priority, onChange };
      const entry = this.acquire(definition, request, watcher);
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort);
      // While updates are paused a stale entry would not be fetched.
      if (!this.#isFresh(entry) && !entry.flight) entry.revision = NEVER;
      if (this.#connection.error !== null && priority !== 'low') this.reconnect();
      onChange();
    });
  }

  /** Return cached data, which may be stale; does not fetch. */
  peek<Request, Data>(
    definition: QueryDefinition<Request, Data>,
    request: Request,
  ): Data | undefined {
    const entries = this.#groups.get(definition)?.entries;
    return entries?.get(this.makeKey(definition, request))?.data as Data | undefined;
  }

  /** Fetch what will probably be needed; failures are reported to whoever needs it then. */
  prefetch<Request, Data>(definition: QueryDefinition<Request, Data>, request: Request): void {
    this.fetch(definition, request, { priority: 'low' }).catch(() => undefined);
  }

  // ---- Writing

  /** Change something on the server. Never repeated. */
  async mutate<Name extends RouteName>(
    route: Name,
    request: RequestOf<Name>,
    signal = new AbortController().signal,
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
    const entry = this.#getEntry(definition, request);
    if (entry.flight) this.#abort(entry.flight);
    entry.store(data, this.#getRevision(entry));
    entry.notify();
    this.#schedule();
  }

  /** Mark all entries of a definition as stale, and fetch again those in use. */
  invalidate(definition: AnyDefinition): void {
    for (const entry of this.#groups.get(definition)?.entries.values() ?? []) {
      entry.revision = NEVER;
      // A response under way was computed before the change.
      if (entry.flight) this.#abort(entry.flight);
    }
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
    this.#groups.clear();
  }

  // ---- For observers

  acquire(definition: AnyDefinition, request: unknown, watcher: Watcher): Entry {
    const entry = this.#getEntry(definition, request);
    // Another attempt: an error is not worth keeping.
    if (entry.watchers.size === 0 && entry.failure) entry.reset();
    entry.watchers.add(watcher);
    this.#watched.add(entry);
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
    entry.group.evict();
  }

  retry(entry: Entry): void {
    entry.reset();
    entry.notify();
    this.reconnect();
  }

  /** Large parts of requests that many keys share are replaced by a number. */
  makeKey({ batch }: AnyDefinition, request: unknown): string {
    if (!batch) return JSON.stringify(request);
    return `${this.#getSharedId(batch.shared(request))} ${JSON.stringify(batch.item(request))}`;
  }

  getError(entry: Entry): QueryError | null {
    return entry.error ?? (this.#isFresh(entry) ? null : this.#connection.error);
  }

  // ---- Entries

  /** Return the entry of a request, which is created if necessary, as the most recently used. */
  #getEntry(definition: AnyDefinition, request: unknown): Entry {
    const group = this.#groups.get(definition) ?? new Group(definition);
    this.#groups.set(definition, group);
    const { batch } = definition;
    const key = this.makeKey(definition, request);
    const sharedId = batch ? this.#getSharedId(batch.shared(request)) : 0;
    const entry = group.entries.get(key) ?? new Entry(group, request, sharedId);
    group.entries.delete(key);
    group.entries.set(key, entry);
    return entry;
  }

  /** Return the same number for equal objects. */
  #getSharedId(shared: object): number {
    const known = this.#sharedIds.get(shared);
    if (known !== undefined) return known;
    const text = JSON.stringify(shared);
    const id = this.#idsByText.get(text) ?? this.#idCount++;
    // A forgotten text only means that an entry is fetched again.
    if (this.#idsByText.size >= MAX_SHARED_IDS) this.#idsByText.clear();
    this.#idsByText.set(text, id);
    this.#sharedIds.set(shared, id);
    return id;
  }

  #getRevision({ group, request }: Entry): number {
    const { scope } = group.definition;
    return this.revisions.get(typeof scope === 'function' ? scope(request) : scope);
  }

  #isFresh(entry: Entry): boolean {
    return entry.revision !== NEVER && entry.revision === this.#getRevision(entry);
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
      for (const entry of due.filter((one) => one.priority === priority)) {
        if (!entry.flight && this.#canSend(entry.group, priority)) {
          this.#send(pickBatch(entry, due), now);
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
    if (this.#isPaused || this.#isFresh(entry)) return nextPoll;
    const isNext = attemptedAt < group.waveStart;
    return Math.min(nextPoll, Math.max(notBefore, isNext ? 0 : group.restUntil));
  }

  #canSend({ definition, inFlight }: Group, priority: Priority): boolean {
    if (this.#connection.isProbing || this.#flights.size >= MAX_IN_FLIGHT[priority]) return false;
    return inFlight === 0 || !definition.batch;
  }

  // ---- Requests

  #send(entries: readonly [Entry, ...Entry[]], now: number): void {
    const [{ group }] = entries;
    const isProbe = this.#connection.error !== null;
    const flight = { group, entries, controller: new AbortController(), isProbe };
    this.#connection.isProbing = isProbe;
    if (entries.some(({ revision }) => revision !== NEVER) && group.restUntil <= now) {
      group.waveStart = now;
    }
    this.#flights.add(flight);
    group.inFlight++;
    for (const entry of entries) {
      // `pollAt` stays: a poll that is aborted or fails for a while is still due.
      [entry.flight, entry.attemptedAt] = [flight, now];
      entry.sentRevision = this.#getRevision(entry);
      entry.notify();
    }
    void this.#run(flight, now);
  }

  /** Never rejects: an exception must not stop the queue. */
  async #run(flight: Flight, startedAt: number): Promise<void> {
    const { group, entries, controller, isProbe } = flight;
    let failure: unknown = null;
    const results = await this.#request(flight).catch((error: unknown) => {
      failure = error;
      return entries.map(() => (): never => {
        throw error;
      });
    });
    if (controller.signal.aborted) return;
    const { minRefreshMs = DEFAULT_MIN_REFRESH_MS, batch } = group.definition;
    const endedAt = performance.now();
    group.restUntil = endedAt + Math.max(minRefreshMs, PAUSE_FACTOR * (endedAt - startedAt));
    const isSplit = entries.length > 1 && isRefusal(failure);
    const hasChanged = this.#connection.update(failure, isProbe);
    for (const [at, entry] of entries.entries()) {
      entry.flight = null;
      if (isSplit) [entry.isAlone, entry.revision] = [true, NEVER];
      else settle(entry, results[at] ?? failWithoutItem);
    }
    // To the console and to the page's list of errors.
    const bugs = new Set(entries.flatMap(({ bug }) => (bug ? [bug.error] : [])));
    for (const error of bugs) reportError(error);
    for (const entry of hasChanged ? new Set([...entries, ...this.#watched]) : entries) {
      entry.notify();
    }
    const wasFirst = group.isFirst && batch?.firstItems !== undefined;
    group.isFirst = false;
    this.#flights.delete(flight);
    if (wasFirst) await this.#afterPaint?.();
    group.inFlight--;
    group.evict();
    this.#schedule();
  }

  /** Return functions that return the data of each entry, or throw why there is none. */
  async #request({ group, entries, controller }: Flight): Promise<readonly (() => unknown)[]> {
    const { route, batch, select, update, isFile } = group.definition;
    const sent = entries.map(({ request, hasData, data }) =>
      update && hasData ? (update.request(request, data) as unknown) : request,
    );
    const wire = makeWireRequest(route, batch ? batch.join(sent) : sent[0], isFile);
    const response = await this.transport.send(wire, controller.signal);
    if (controller.signal.aborted) return [];
    const requests = entries.map(({ request }) => request);
    const items: readonly unknown[] = batch ? batch.split(response, requests) : [response];
    return items.slice(0, entries.length).map((item, at) => (): unknown => {
      const { request, hasData, data } = entries[at] as Entry;
      if (item instanceof ServerError) throw item;
      if (update && hasData) return update.merge(data, item) as unknown;
      return select ? (select(item, request) as unknown) : item;
    });
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
}

interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly priority?: Priority;
}

function pickBatch(first: Entry, due: readonly Entry[]): [Entry, ...Entry[]] {
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

/** Store what a request returned or why it failed. */
function settle(entry: Entry, read: () => unknown): void {
  const { recover } = entry.group.definition;
  try {
    try {
      entry.store(read());
    } catch (error) {
      const data: unknown = error instanceof ServerError ? recover?.(error) : undefined;
      if (data === undefined) throw error;
      entry.store(data);
    }
  } catch (error) {
    // Without a connection the entry stays due; `getError` reports the lost connection.
    if (error instanceof NetworkError) return;
    const delay = error instanceof ServerError ? getRetryDelayMs(error, ++entry.failures) : null;
    if (delay === null) entry.fail(error);
    else entry.notBefore = performance.now() + delay;
  }
}

function failWithoutItem(): never {
  throw new RangeError('a batch returned too few items');
}

/** Whether the server finds fault with a request: with several in a batch, one of them is bad. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ServerError) || error.status === TOO_MANY_REQUESTS) return false;
  return error.status >= 400 && error.status < 500;
}
