import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import type { QueryError } from './errors';
import type { QueryCache } from './query-cache';
import type { ObserveOptions, QueryDefinition, QueryStatus } from './query-definition';
import type { Entry, Watcher } from './query-entries';

/** What a view sees of a query. All fields are reactive. */
export interface Query<Data> {
  /**
   * Undefined until there is a response. Data of the previous request or revision stays until the
   * next arrives. Throws if the page has a bug, so that the nearest error boundary shows it.
   */
  readonly data: Data | undefined;
  /** Why the last attempt failed. */
  readonly error: QueryError | null;
  readonly status: QueryStatus;
  /** True until there is a response for the current request, or an error. */
  readonly isLoading: boolean;
  /** `data` belongs to the previous request. */
  readonly isStale: boolean;
  retry(): void;
}

/** Follows one query whose request changes; `onChange` is for code without effects. */
export class QueryObserver<Request, Data> implements Query<Data> {
  readonly #cache: QueryCache;
  readonly #definition: QueryDefinition<Request, Data>;
  readonly #options: ObserveOptions<Request>;
  readonly #onChange: ((query: Query<Data>) => void) | undefined;
  readonly #watcher: Watcher;
  // Separate fields: an effect that reads the data does not run again because a refresh begins.
  #data = $state.raw<Data | undefined>();
  #bug = $state.raw<Entry['bug']>(null);
  error = $state.raw<QueryError | null>(null);
  status = $state.raw<QueryStatus>('idle');
  isStale = $state.raw(false);
  #request: Request | null = null;
  #key: string | null = null;
  #entry: Entry | null = null;
  /** An earlier request whose result is still wanted, until there is a later one. */
  #finishing: Entry | null = null;
  #previous: Data | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    cache: QueryCache,
    definition: QueryDefinition<Request, Data>,
    options: ObserveOptions<Request> = {},
    onChange?: (query: Query<Data>) => void,
  ) {
    [this.#cache, this.#definition] = [cache, definition];
    [this.#options, this.#onChange] = [options, onChange];
    this.#watcher = {
      priority: options.priority ?? definition.priority ?? 'normal',
      onChange: (entry) => this.#update(entry),
    };
  }

  get data(): Data | undefined {
    if (this.#bug) throw this.#bug.error;
    return this.#data;
  }

  get isLoading(): boolean {
    return this.status === 'loading';
  }

  /** Set the request; null for none. */
  setRequest(request: Request | null): void {
    const key = request === null ? null : this.#cache.makeKey(this.#definition, request);
    if (key === this.#key) return;
    this.#leave(request);
    [this.#request, this.#key] = [request, key];
    if (request === null) return this.#report();
    const { debounceMs = 0 } = this.#options;
    const isKnown = this.#cache.peek(this.#definition, request) !== undefined;
    if (debounceMs === 0 || isKnown) return this.#enter(request);
    this.#timer = setTimeout(() => this.#enter(request), debounceMs);
    this.#report();
  }

  /** Fetch again, after an error. */
  retry(): void {
    if (this.#entry) this.#cache.retry(this.#entry);
  }

  dispose(): void {
    this.#leave(null);
    [this.#request, this.#key] = [null, null];
  }

  #enter(request: Request): void {
    this.#entry = this.#cache.acquire(this.#definition, request, this.#watcher);
    if (this.#finishing === this.#entry) this.#finishing = null;
    this.#report();
  }

  /** Give up the current request, but keep its data or its response under way if they are wanted. */
  #leave(next: Request | null): void {
    clearTimeout(this.#timer);
    const entry = this.#entry;
    const before = this.#request;
    const { keepPrevious = true } = this.#options;
    const isKept =
      next !== null &&
      before !== null &&
      (typeof keepPrevious === 'function' ? keepPrevious(before, next) : keepPrevious);
    if (!isKept) this.#previous = undefined;
    else if (entry?.hasData) this.#previous = entry.data as Data;
    const isCompleted = isKept && this.#definition.completes?.(before, next) === true;
    if (!isCompleted || entry?.flight) this.#finishing = this.#release(this.#finishing);
    if (isCompleted && entry?.flight) this.#finishing = entry;
    else this.#release(entry);
    this.#entry = null;
  }

  #release(entry: Entry | null): null {
    if (entry) this.#cache.release(entry, this.#watcher);
    return null;
  }

  #update(entry: Entry): void {
    const isFinished = entry === this.#finishing && !entry.flight;
    if (isFinished && entry.hasData) this.#previous = entry.data as Data;
    if (isFinished || this.#entry?.hasData) this.#finishing = this.#release(this.#finishing);
    this.#report();
  }

  #report(): void {
    const entry = this.#entry;
    const isIdle = this.#request === null;
    const hasData = entry?.hasData ?? false;
    const error = entry && this.#cache.getError(entry);
    this.#data = hasData ? (entry?.data as Data) : this.#previous;
    this.#bug = entry?.bug ?? null;
    this.error = error;
    this.isStale = !hasData && this.#previous !== undefined;
    if (isIdle) this.status = 'idle';
    else if (error && !hasData) this.status = 'error';
    else if (!hasData) this.status = 'loading';
    else this.status = entry?.flight ? 'refreshing' : 'ready';
    // A bug is reported by the cache; reading the data would throw it.
    if (!this.#bug) untrack(() => this.#onChange?.(this));
  }
}

/**
 * Follow a query while the surrounding component or effect lives. `request` is reactive; null means
 * that nothing is needed. Call it where effects can be created.
 */
export function createQuery<Request, Data>(
  cache: QueryCache,
  definition: QueryDefinition<Request, Data>,
  request: () => Request | null,
  options: ObserveOptions<Request> = {},
): Query<Data> {
  const query = new QueryObserver(cache, definition, options);
  // Before the DOM is updated: cached data is part of the first picture.
  $effect.pre(() => {
    const next = request();
    untrack(() => query.setRequest(next));
  });
  $effect.pre(() => () => query.dispose());
  return query;
}

interface SharedQuery<Request, Data> {
  readonly query: QueryObserver<Request, Data>;
  readonly stop: () => void;
  users: number;
}

/** Queries of one definition by a key, for state that several components share. */
export class QueryMap<Request, Data> {
  readonly #makeRequest: (key: string) => Request | null;
  readonly #createQuery: () => QueryObserver<Request, Data>;
  readonly #queries = new SvelteMap<string, SharedQuery<Request, Data>>();

  /** `makeRequest` is reactive. */
  constructor(
    cache: QueryCache,
    definition: QueryDefinition<Request, Data>,
    makeRequest: (key: string) => Request | null,
    options?: ObserveOptions<Request>,
  ) {
    this.#makeRequest = makeRequest;
    this.#createQuery = () => new QueryObserver(cache, definition, options);
  }

  /** Follow the query of a key until the returned function is called. May be called in an effect. */
  subscribe(key: string): () => void {
    const shared = untrack(() => this.#queries.get(key) ?? this.#start(key));
    shared.users++;
    return () => {
      if (--shared.users === 0) untrack(shared.stop);
    };
  }

  /** Return the query of a key that has subscribers. */
  get(key: string): Query<Data> | undefined {
    return this.#queries.get(key)?.query;
  }

  /** The keys that have subscribers. */
  get keys(): string[] {
    return [...this.#queries.keys()];
  }

  #start(key: string): SharedQuery<Request, Data> {
    const query = this.#createQuery();
    const update = (): void => {
      const request = this.#makeRequest(key);
      untrack(() => query.setRequest(request));
    };
    let stopEffect = (): void => undefined;
    const stop = (): void => {
      stopEffect();
      query.dispose();
      this.#queries.delete(key);
    };
    const shared = { query, stop, users: 0 };
    // Cached data is part of the first picture.
    update();
    this.#queries.set(key, shared);
    // Outside the effect that subscribes: an effect inside it is not updated any more when both
    // depend on the same state.
    queueMicrotask(() => {
      if (shared.users === 0) return;
      stopEffect = $effect.root(() => {
        $effect.pre(update);
      });
    });
    return shared;
  }
}
