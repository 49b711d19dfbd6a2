import { LruCache } from '../lib/caches';
import {
  getBackoffMs,
  getRetryDelayMs,
  isRefusal,
  NetworkError,
  QueryError,
  ServerError,
} from './errors';
import type {
  AnyDefinition,
  Priority,
  QueryDefinition,
  RequestOf,
  ResponseOf,
  RevisionScope,
  RouteName,
} from './query-definition';
import { makeWireRequest, type Transport } from './transport';

/** A browser allows six connections per server. Requests of lower priority leave some of them free. */
const MAX_IN_FLIGHT: Readonly<Record<Priority, number>> = { high: 6, normal: 5, low: 2 };
const DEFAULT_MIN_REFRESH_MS = 1000;
/** A slow log is polled less often: the pause is this many times the duration of the last request. */
const PAUSE_FACTOR = 5;
const MAX_SHARED_IDS = 256;
const DEFAULT_MAX_COST = 200;
/** Revision of an entry that must be fetched whatever the revision of the log is. */
const NEVER = -1;
const MISSING_ITEM = new RangeError('a batch returned too few items');

/** A user of an entry, which is notified of changes. */
export interface Watcher {
  readonly priority: Priority;
  onChange(entry: Entry): void;
}

/** One request to the transport. */
interface Flight {
  readonly group: Group;
  readonly entries: readonly Entry[];
  readonly controller: AbortController;
  /** The revision of the log when the request was sent. */
  readonly revision: number;
}

/** The result of one request, or of one part of a batched request. */
export class Entry {
  /** Undefined until there is a response. */
  data: unknown;
  /** Why the last attempt failed: a `QueryError`, or a bug in the page. */
  failure: unknown = null;
  flight: Flight | null = null;
  /** The server refused a batch with this entry, so it is sent by itself. */
  isAlone = false;
  /** Revision that the last completed attempt saw; `NEVER` if the entry must be fetched. */
  revision = NEVER;
  /** Failed attempts in a row that are to be repeated. */
  failures = 0;
  /** Times in milliseconds: earliest next attempt, next poll. */
  notBefore = 0;
  pollAt = Infinity;
  cost = 0;
  readonly watchers = new Set<Watcher>();

  /** Entries with the same `sharedId` can be in one batch. */
  constructor(
    readonly group: Group,
    readonly request: unknown,
    readonly sharedId: number,
  ) {}

  get maxInFlight(): number {
    return Math.max(...[...this.watchers].map(({ priority }) => MAX_IN_FLIGHT[priority]));
  }

  /** The failure if it is a programming error. */
  get bug(): unknown {
    return this.failure instanceof QueryError ? null : this.failure;
  }

  notify(): void {
    for (const watcher of [...this.watchers]) watcher.onChange(this);
  }

  /** Forget the last attempt, so that there is another one at once. */
  reset(): void {
    [this.failure, this.revision, this.notBefore] = [null, NEVER, 0];
  }

  store(data: unknown, revision: number): void {
    const { cost, poll } = this.group.definition;
    const delay = poll?.(data, this.data) ?? Infinity;
    const size = cost?.(data) ?? 1;
    this.group.cost += size - this.cost;
    [this.data, this.cost] = [data, size];
    this.complete(null, revision, delay);
  }

  complete(failure: unknown, revision: number, pollMs = Infinity): void {
    [this.failure, this.revision, this.pollAt] = [failure, revision, performance.now() + pollMs];
    [this.failures, this.notBefore] = [0, 0];
  }
}

/** All entries of one definition. */
class Group {
  /** By key; least recently used first. */
  readonly entries = new Map<string, Entry>();
  cost = 0;
  /** Refreshes wait until this time, except for data from before the revision `wave`. */
  restUntil = 0;
  wave = 0;
  isFirst = true;

  constructor(readonly definition: AnyDefinition) {}

  /** Delete unused entries above the limit: those that exceed it alone, then the least recently used. */
  evict(): void {
    const { maxCost = DEFAULT_MAX_COST } = this.definition;
    if (this.cost <= maxCost) return;
    const unused = [...this.entries].filter(([, entry]) => !entry.watchers.size && !entry.flight);
    unused.sort(([, one], [, other]) => +(other.cost > maxCost) - +(one.cost > maxCost));
    for (const [key, { cost }] of unused) {
      if (this.cost <= maxCost) return;
      this.entries.delete(key);
      this.cost -= cost;
    }
  }
}

/** Counts changes of the log, so that data read before a change can be recognized as stale. */
class Revisions {
  count = 0;
  /** Values of the counter at the last change of any run, of all runs, of everything. */
  #log = 0;
  #allRuns = 0;
  #reset = 0;
  readonly #runs = new Map<string, number>();
  readonly #events = new Map<string, number>();
  /** Requests of many charts name the same hundreds of runs. */
  readonly #known = new WeakMap<readonly string[], { at: number; value: number }>();

  constructor(readonly onChange: () => void) {}

  /** Mark runs as changed; null if they are not known. */
  markRuns(names: Iterable<string> | null): void {
    this.#log = ++this.count;
    if (names === null) this.#allRuns = this.count;
    else for (const name of names) this.#runs.set(name, this.count);
    this.onChange();
  }

  /** Everything may have changed, also what events report. */
  markLog(): void {
    this.#reset = this.count + 1;
    this.markRuns(null);
  }

  markEvent(name: string): void {
    this.#events.set(name, ++this.count);
    this.onChange();
  }

  /** Return the value of the counter at the last change. */
  get(scope: RevisionScope): number {
    if (scope === 'immutable') return 0;
    if (scope === 'log') return this.#log;
    if ('event' in scope) return Math.max(this.#reset, this.#events.get(scope.event) ?? 0);
    return scope.runs === null ? this.#log : this.#getLatest(scope.runs);
  }

  #getLatest(runs: readonly string[]): number {
    const known = this.#known.get(runs);
    if (known?.at === this.#log) return known.value;
    const value = runs.reduce((max, run) => Math.max(max, this.#runs.get(run) ?? 0), this.#allRuns);
    this.#known.set(runs, { at: this.#log, value });
    return value;
  }
}

interface CacheOptions {
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
  /** Mark here what has changed; observed data is fetched again. */
  readonly revisions = new Revisions(() => this.#schedule());
  readonly #groups = new Map<AnyDefinition, Group>();
  /** In the order of subscription: cards subscribe from top to bottom. */
  readonly #watched = new Set<Entry>();
  readonly #flights = new Set<Flight>();
  readonly #sharedIds = new WeakMap<object, number>();
  /** A forgotten text only means that an entry is fetched again. */
  readonly #idsByText = new LruCache<number>(MAX_SHARED_IDS);
  #idCount = 0;
  /** Why no response arrives; null while the server is reachable. */
  #lost: NetworkError | null = null;
  #lostCount = 0;
  /** Time in milliseconds before which nothing is sent. */
  #retryAt = 0;
  #isPaused = false;
  #isFlushScheduled = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: CacheOptions) {}

  supports(route: string): boolean {
    return this.options.transport.supports(route);
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
    options: { readonly signal?: AbortSignal | undefined; readonly priority?: Priority } = {},
  ): Promise<Data> {
    const { signal, priority = definition.priority ?? 'normal' } = options;
    return new Promise((resolve, reject) => {
      let isAttempted = false;
      const onChange = (): void => {
        // A lost connection from before the call is no reason to reject: this is another attempt.
        isAttempted ||= entry.flight !== null;
        if (entry.flight) return;
        const failure = entry.failure ?? (isAttempted ? this.getError(entry) : null);
        if (failure === null && !this.#isFresh(entry)) return;
        this.release(entry, watcher);
        if (failure === null) resolve(entry.data as Data);
        else reject(failure as Error);
      };
      const watcher = { priority, onChange };
      const entry = this.acquire(definition, request, watcher);
      const abort = (): void => {
        this.release(entry, watcher);
        reject(signal?.reason as Error);
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      // While updates are paused a stale entry would not be fetched.
      if (!this.#isFresh(entry) && !entry.flight) entry.revision = NEVER;
      if (this.#lost && priority !== 'low') this.reconnect();
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
  ): Promise<ResponseOf<Name>> {
    const wire = { ...makeWireRequest(route, request), isMutation: true };
    const { signal } = new AbortController();
    return (await this.options.transport.send(wire, signal)) as ResponseOf<Name>;
  }

  /** Store data that is known without a request: the response of a mutation, an optimistic change. */
  set<Request, Data>(
    definition: QueryDefinition<Request, Data>,
    request: Request,
    data: Data,
  ): void {
    const entry = this.#getEntry(definition, request);
    if (entry.flight) this.#abort(entry.flight);
    entry.store(data, this.revisions.count);
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
    this.#retryAt = 0;
    this.#schedule();
  }

  dispose(): void {
    // Nothing is due any more.
    this.#retryAt = Infinity;
    clearTimeout(this.#timer);
    for (const flight of this.#flights) this.#abort(flight);
    this.#watched.clear();
    this.#groups.clear();
  }

  // ---- For observers

  acquire(definition: AnyDefinition, request: unknown, watcher: Watcher): Entry {
    const entry = this.#getEntry(definition, request);
    // Another attempt: an error is not worth keeping.
    if (entry.watchers.size === 0 && entry.failure !== null) entry.reset();
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
    // Later, since a card that is moved on the page is removed and added again at once.
    setTimeout(() => {
      const isUsed = flight?.entries.some(({ watchers }) => watchers.size > 0);
      if (flight && !isUsed && this.#flights.has(flight)) this.#abort(flight);
    });
    entry.group.evict();
  }

  /** Large parts of requests that many keys share are replaced by a number. */
  makeKey({ batch }: AnyDefinition, request: unknown): string {
    if (!batch) return JSON.stringify(request);
    return `${this.#getSharedId(batch.shared(request))} ${JSON.stringify(batch.item(request))}`;
  }

  getError(entry: Entry): QueryError | null {
    if (entry.failure instanceof QueryError) return entry.failure;
    return this.#isFresh(entry) ? null : this.#lost;
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
    this.#idsByText.set(text, id, 1);
    this.#sharedIds.set(shared, id);
    return id;
  }

  #isFresh({ group, request, revision }: Entry): boolean {
    const { scope } = group.definition;
    return revision >= this.revisions.get(typeof scope === 'function' ? scope(request) : scope);
  }

  // ---- Scheduling

  /** Flush after the current task, so that all cards that appear together share requests. */
  #schedule(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    queueMicrotask(() => {
      this.#isFlushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    let wakeAt = Infinity;
    const due: Entry[] = [];
    for (const entry of this.#watched) {
      const dueAt = Math.max(this.#getDueTime(entry), this.#retryAt);
      if (dueAt <= now) due.push(entry);
      else wakeAt = Math.min(wakeAt, dueAt);
    }
    for (const entry of due.sort((one, other) => other.maxInFlight - one.maxInFlight)) {
      if (!entry.flight && this.#canSend(entry)) void this.#send(pickBatch(entry, due), now);
    }
    if (wakeAt < Infinity) this.#timer = setTimeout(() => this.#flush(), wakeAt - now);
  }

  /** Return when the entry is to be fetched; Infinity if it need not be. */
  #getDueTime(entry: Entry): number {
    const { group, flight, revision, notBefore, pollAt } = entry;
    if (flight) return Infinity;
    if (revision === NEVER) return notBefore;
    if (this.#isPaused || this.#isFresh(entry)) return Math.max(notBefore, pollAt);
    const isNext = revision < group.wave;
    return Math.max(notBefore, isNext ? 0 : Math.min(group.restUntil, pollAt));
  }

  /** One batch of a definition at a time; while the server is lost, one request at a time. */
  #canSend({ group, maxInFlight }: Entry): boolean {
    if (this.#flights.size >= (this.#lost ? 1 : maxInFlight)) return false;
    return !group.definition.batch || ![...this.#flights].some((flight) => flight.group === group);
  }

  // ---- Requests

  /** Never rejects: an exception must not stop the queue. */
  async #send(entries: readonly [Entry, ...Entry[]], startedAt: number): Promise<void> {
    const [{ group }] = entries;
    const { minRefreshMs = DEFAULT_MIN_REFRESH_MS, batch } = group.definition;
    const revision = this.revisions.count;
    const flight = { group, entries, controller: new AbortController(), revision };
    if (entries.some((entry) => entry.revision !== NEVER) && group.restUntil <= startedAt) {
      group.wave = revision;
    }
    this.#flights.add(flight);
    for (const entry of entries) {
      // `pollAt` stays: a poll that is aborted or fails for a while is still due.
      entry.flight = flight;
      entry.notify();
    }
    let failure: unknown = null;
    const items = await this.#request(flight).catch((error: unknown) => {
      failure = error;
      return entries.map(() => error);
    });
    if (flight.controller.signal.aborted) return;
    const endedAt = performance.now();
    group.restUntil = endedAt + Math.max(minRefreshMs, PAUSE_FACTOR * (endedAt - startedAt));
    const isSplit = entries.length > 1 && isRefusal(failure);
    for (const [at, entry] of entries.entries()) {
      entry.flight = null;
      if (isSplit) [entry.isAlone, entry.revision] = [true, NEVER];
      else settle(entry, at < items.length ? items[at] : MISSING_ITEM, revision);
    }
    const wasFirst = group.isFirst && batch?.firstItems !== undefined;
    group.isFirst = false;
    if (!wasFirst) this.#flights.delete(flight);
    this.#updateConnection(failure);
    // To the console and to the page's list of errors.
    const bugs = new Set(entries.map(({ bug }) => bug).filter((bug) => bug !== null));
    for (const bug of bugs) reportError(bug);
    for (const entry of entries) entry.notify();
    if (wasFirst) await this.options.afterPaint?.();
    this.#flights.delete(flight);
    group.evict();
    this.#schedule();
  }

  /** Return the data of each entry or the error of an item. */
  async #request({ group, entries, controller }: Flight): Promise<readonly unknown[]> {
    const { route, batch, update, isFile } = group.definition;
    const sent = entries.map(({ request, data }) =>
      update && data !== undefined ? (update.request(request, data) as unknown) : request,
    );
    const wire = makeWireRequest(route, batch ? batch.join(sent) : sent[0], isFile);
    const response = await this.options.transport.send(wire, controller.signal);
    if (!batch || controller.signal.aborted) return [response];
    const requests = entries.map(({ request }) => request);
    return batch.split(response, requests);
  }

  /** After a network error everything waits; requests are tried one at a time until one arrives. */
  #updateConnection(failure: unknown): void {
    const before = this.#lost;
    this.#lost = failure instanceof NetworkError ? failure : null;
    this.#lostCount = this.#lost ? this.#lostCount + 1 : 0;
    this.#retryAt = this.#lost ? performance.now() + getBackoffMs(this.#lostCount) : 0;
    // Requests that are in flight together fail together.
    if (this.#lost) for (const flight of this.#flights) this.#abort(flight);
    if (!before !== !this.#lost) for (const entry of this.#watched) entry.notify();
  }

  #abort(flight: Flight): void {
    flight.controller.abort();
    this.#flights.delete(flight);
    for (const entry of flight.entries) if (entry.flight === flight) entry.flight = null;
    this.#schedule();
  }
}

function pickBatch(first: Entry, due: readonly Entry[]): [Entry, ...Entry[]] {
  const { group, sharedId, request } = first;
  const { batch } = group.definition;
  if (!batch || first.isAlone) return [first];
  const limit = (group.isFirst ? batch.firstItems : undefined) ?? batch.maxItems;
  const size = typeof limit === 'number' ? limit : limit(request);
  const isOther = (entry: Entry): boolean =>
    entry !== first && entry.group === group && entry.sharedId === sharedId;
  const others = due.filter((entry) => isOther(entry) && !entry.flight && !entry.isAlone);
  return [first, ...others.slice(0, Math.max(0, size - 1))];
}

/** Store what a request returned, or why it failed. */
function settle(entry: Entry, item: unknown, revision: number): void {
  const { select, update } = entry.group.definition;
  try {
    if (item instanceof Error) throw item;
    if (update && entry.data !== undefined) entry.store(update.merge(entry.data, item), revision);
    else entry.store(select ? select(item, entry.request) : item, revision);
  } catch (error) {
    // Without a connection the entry stays due; `getError` reports the lost connection.
    if (error instanceof NetworkError) return;
    const delay = error instanceof ServerError ? getRetryDelayMs(error, ++entry.failures) : null;
    if (delay === null) entry.complete(error, revision);
    else entry.notBefore = performance.now() + delay;
  }
}
