import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import type { QueryError } from './errors';
import type { QueryCache } from './query-cache';
import {
  IDLE,
  type ObserveOptions,
  type QueryDefinition,
  type QueryState,
} from './query-definition';
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
  readonly status: QueryState<Data>['status'];
  /** True until there is a response for the current request, or an error. */
  readonly isLoading: boolean;
  /** `data` belongs to the previous request. */
  readonly isStale: boolean;
  retry(): void;
}

class ReactiveQuery<Request, Data> implements Query<Data> {
  readonly observer: QueryObserver<Request, Data>;
  // Separate fields: an effect that reads the data does not run again because a refresh begins.
  #data = $state.raw<Data | undefined>();
  #bug = $state.raw<QueryState<Data>['bug']>(null);
  error = $state.raw<QueryError | null>(null);
  status = $state.raw<QueryState<Data>['status']>('idle');
  isStale = $state.raw(false);

  constructor(
    cache: QueryCache,
    definition: QueryDefinition<Request, Data>,
    options: ObserveOptions<Request>,
  ) {
    this.observer = new QueryObserver(cache, definition, (state) => this.#set(state), options);
  }

  get data(): Data | undefined {
    if (this.#bug) throw this.#bug.error;
    return this.#data;
  }

  get isLoading(): boolean {
    return this.status === 'loading';
  }

  retry(): void {
    this.observer.retry();
  }

  #set({ data, bug, error, status, isStale }: QueryState<Data>): void {
    [this.#data, this.#bug, this.error] = [data, bug, error];
    [this.status, this.isStale] = [status, isStale];
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
  const query = new ReactiveQuery(cache, definition, options);
  // Before the DOM is updated: cached data is part of the first picture.
  $effect.pre(() => {
    const next = request();
    untrack(() => query.observer.setRequest(next));
  });
  $effect.pre(() => () => query.observer.dispose());
  return query;
}

interface SharedQuery<Data> {
  readonly query: Query<Data>;
  readonly stop: () => void;
  users: number;
}

/** Queries of one definition by a key, for state that several components share. */
export class QueryMap<Request, Data> {
  readonly #cache: QueryCache;
  readonly #definition: QueryDefinition<Request, Data>;
  readonly #makeRequest: (key: string) => Request | null;
  readonly #options: ObserveOptions<Request>;
  readonly #queries = new SvelteMap<string, SharedQuery<Data>>();

  /** `makeRequest` is reactive. */
  constructor(
    cache: QueryCache,
    definition: QueryDefinition<Request, Data>,
    makeRequest: (key: string) => Request | null,
    options: ObserveOptions<Request> = {},
  ) {
    this.#cache = cache;
    this.#definition = definition;
    this.#makeRequest = makeRequest;
    this.#options = options;
  }

  /** Follow the query of a key until the returned function is called. May be called in an effect. */
  subscribe(key: string): () => void {
    untrack(() => {
      const known = this.#queries.get(key);
      if (known) known.users++;
      else this.#queries.set(key, this.#start(key));
    });
    return () => untrack(() => this.#leave(key));
  }

  /** Return the query of a key that has subscribers. */
  get(key: string): Query<Data> | undefined {
    return this.#queries.get(key)?.query;
  }

  /** The keys that have subscribers. */
  get keys(): string[] {
    return [...this.#queries.keys()];
  }

  #start(key: string): SharedQuery<Data> {
    const query = new ReactiveQuery(this.#cache, this.#definition, this.#options);
    const { observer } = query;
    const update = (request: Request | null): void => untrack(() => observer.setRequest(request));
    // Cached data is part of the first picture.
    update(this.#makeRequest(key));
    let isStopped = false;
    let stopEffect = (): void => undefined;
    // Outside the effect that subscribes: an effect inside it is not updated any more when both
    // depend on the same state.
    queueMicrotask(() => {
      if (isStopped) return;
      stopEffect = $effect.root(() => {
        $effect.pre(() => update(this.#makeRequest(key)));
      });
    });
    const stop = (): void => {
      isStopped = true;
      stopEffect();
      observer.dispose();
    };
    return { query, stop, users: 1 };
  }

  #leave(key: string): void {
    const known = this.#queries.get(key);
    if (!known || --known.users > 0) return;
    known.stop();
    this.#queries.delete(key);
  }
}

/** Follows one query whose request changes, and reports what is to be shown. */
export class QueryObserver<Request, Data> {
  readonly #cache: QueryCache;
  readonly #definition: QueryDefinition<Request, Data>;
  readonly #listener: (state: QueryState<Data>) => void;
  readonly #options: ObserveOptions<Request>;
  readonly #watcher: Watcher;
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
    listener: (state: QueryState<Data>) => void,
    options: ObserveOptions<Request> = {},
  ) {
    this.#cache = cache;
    this.#definition = definition;
    this.#listener = listener;
    this.#options = options;
    this.#watcher = {
      priority: options.priority ?? definition.priority ?? 'normal',
      onChange: (entry) => this.#update(entry),
    };
  }

  /** Set the request; null for none. */
  setRequest(request: Request | null): void {
    const key = request === null ? null : this.#cache.makeKey(this.#definition, request);
    if (key === this.#key) return;
    clearTimeout(this.#timer);
    this.#leave(request);
    this.#request = request;
    this.#key = key;
    if (request === null) return this.#listener(IDLE);
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
    clearTimeout(this.#timer);
    this.#release();
    this.#releaseFinishing();
    [this.#request, this.#key, this.#previous] = [null, null, undefined];
  }

  #enter(request: Request): void {
    this.#entry = this.#cache.acquire(this.#definition, request, this.#watcher);
    this.#report();
  }

  /** Give up the current request, but keep its data or its response under way if they are wanted. */
  #leave(next: Request | null): void {
    const entry = this.#entry;
    const before = this.#request;
    if (next === null || before === null) {
      this.#previous = undefined;
      this.#releaseFinishing();
      this.#release();
      return;
    }
    const { keepPrevious = true } = this.#options;
    const isKept = typeof keepPrevious === 'function' ? keepPrevious(before, next) : keepPrevious;
    if (!isKept) this.#previous = undefined;
    else if (entry?.hasData) this.#previous = entry.data as Data;
    if (!isKept || !this.#definition.completes?.(before, next)) this.#releaseFinishing();
    else if (entry?.flight) {
      this.#releaseFinishing();
      this.#finishing = entry;
      this.#entry = null;
      return;
    }
    this.#release();
  }

  #release(): void {
    if (this.#entry) this.#cache.release(this.#entry, this.#watcher);
    this.#entry = null;
  }

  #releaseFinishing(): void {
    if (this.#finishing && this.#finishing !== this.#entry) {
      this.#cache.release(this.#finishing, this.#watcher);
    }
    this.#finishing = null;
  }

  #update(entry: Entry): void {
    if (entry === this.#finishing && !entry.flight) {
      if (entry.hasData) this.#previous = entry.data as Data;
      this.#releaseFinishing();
    }
    if (this.#entry?.hasData) this.#releaseFinishing();
    this.#report();
  }

  #report(): void {
    const entry = this.#entry;
    if (this.#request === null) return;
    const hasData = entry?.hasData ?? false;
    const data = hasData ? (entry?.data as Data) : this.#previous;
    const error = entry ? this.#cache.getError(entry) : null;
    const isBusy = entry === null || entry.flight !== null;
    let status: QueryState<Data>['status'] = 'ready';
    if (error && !hasData) status = 'error';
    else if (isBusy || !hasData) status = hasData ? 'refreshing' : 'loading';
    const isStale = !hasData && data !== undefined;
    this.#listener({ data, error, status, isStale, bug: entry?.bug ?? null });
  }
}
