import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import type { QueryError } from './errors';
import type { Entry, QueryCache, Watcher } from './query-cache';
import type { ObserveOptions, QueryDefinition, QueryStatus } from './query-definition';

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
  readonly #watcher: Watcher;
  // Separate fields: an effect that reads the data does not run again because a refresh begins.
  #data = $state.raw<Data | undefined>();
  #bug = $state.raw<unknown>(null);
  error = $state.raw<QueryError | null>(null);
  status = $state.raw<QueryStatus>('idle');
  isStale = $state.raw(false);
  #request: Request | null = null;
  #key: string | null = null;
  /** The entry of the request; null while that waits. */
  #entry: Entry | null = null;
  /** The entry of an earlier request, whose response is awaited before the current one is sent. */
  #completing: Entry | null = null;
  #previous: Data | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly cache: QueryCache,
    private readonly definition: QueryDefinition<Request, Data>,
    private readonly options: ObserveOptions<Request> = {},
    private readonly onChange?: (query: Query<Data>) => void,
  ) {
    const priority = options.priority ?? definition.priority ?? 'normal';
    this.#watcher = { priority, onChange: (entry) => this.#update(entry) };
  }

  get data(): Data | undefined {
    if (this.#bug !== null) throw this.#bug;
    return this.#data;
  }

  get isLoading(): boolean {
    return this.status === 'loading';
  }

  /** Set the request; null for none. */
  setRequest(request: Request | null): void {
    const key = request === null ? null : this.cache.makeKey(this.definition, request);
    if (key === this.#key) return;
    const isKnown = request !== null && this.cache.peek(this.definition, request) !== undefined;
    this.#leave(request, isKnown);
    [this.#request, this.#key] = [request, key];
    const delay = isKnown ? 0 : (this.options.debounceMs ?? 0);
    if (delay === 0 && !this.#completing) return this.#enter();
    if (!this.#completing) this.#timer = setTimeout(() => this.#enter(), delay);
    this.#report();
  }

  /** Set the request by an effect, before the DOM is updated: cached data is in the first picture. */
  follow(request: () => Request | null): void {
    $effect.pre(() => {
      const next = request();
      untrack(() => this.setRequest(next));
    });
  }

  /** Fetch again, after an error. */
  retry(): void {
    this.#entry?.reset();
    this.cache.reconnect();
  }

  dispose(): void {
    this.#leave(null, false);
    [this.#request, this.#key] = [null, null];
  }

  #enter(): void {
    if (this.#request !== null) {
      this.#entry = this.cache.acquire(this.definition, this.#request, this.#watcher);
    }
    this.#report();
  }

  /** Give up the current request, but keep its data or its response under way if they are wanted. */
  #leave(next: Request | null, isNextKnown: boolean): void {
    clearTimeout(this.#timer);
    const before = this.#request;
    const entry = this.#completing ?? this.#entry;
    const { keepPrevious = true } = this.options;
    const isKept =
      next !== null &&
      before !== null &&
      (typeof keepPrevious === 'function' ? keepPrevious(before, next) : keepPrevious);
    if (!isKept) this.#previous = undefined;
    else if (this.#entry?.data !== undefined) this.#previous = this.#entry.data as Data;
    const isCompleted = isKept && !isNextKnown && this.definition.completes?.(before, next);
    this.#entry = null;
    this.#completing = isCompleted && entry?.flight ? entry : null;
    if (entry && !this.#completing) this.cache.release(entry, this.#watcher);
  }

  #update(entry: Entry): void {
    if (entry !== this.#completing) return this.#report();
    if (entry.flight) return;
    if (entry.data !== undefined) this.#previous = entry.data as Data;
    this.#completing = null;
    this.cache.release(entry, this.#watcher);
    this.#enter();
  }

  #report(): void {
    const entry = this.#entry;
    const hasData = entry?.data !== undefined;
    this.#data = hasData ? (entry.data as Data) : this.#previous;
    this.#bug = entry?.bug ?? null;
    this.error = entry && this.cache.getError(entry);
    this.isStale = !hasData && this.#previous !== undefined;
    if (this.#request === null) this.status = 'idle';
    else if (hasData) this.status = entry.flight ? 'refreshing' : 'ready';
    else this.status = this.error ? 'error' : 'loading';
    // A bug is reported by the cache; reading the data would throw it.
    if (this.#bug === null) untrack(() => this.onChange?.(this));
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
  query.follow(request);
  $effect.pre(() => () => query.dispose());
  return query;
}

interface SharedQuery<Request, Data> {
  readonly query: QueryObserver<Request, Data>;
  users: number;
  stop(): void;
}

/** Queries of one definition by a key, for state that several components share. */
export class QueryMap<Request, Data> {
  readonly #queries = new SvelteMap<string, SharedQuery<Request, Data>>();

  /** `makeRequest` is reactive. */
  constructor(
    private readonly cache: QueryCache,
    private readonly definition: QueryDefinition<Request, Data>,
    private readonly makeRequest: (key: string) => Request | null,
    private readonly options?: ObserveOptions<Request>,
  ) {}

  /** Follow the query of a key until the returned function is called. May be called in an effect. */
  subscribe(key: string): () => void {
    const shared = untrack(() => this.#queries.get(key) ?? this.#start(key));
    shared.users++;
    return () => {
      if (--shared.users > 0) return;
      shared.stop();
      shared.query.dispose();
      untrack(() => this.#queries.delete(key));
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
    const query = new QueryObserver(this.cache, this.definition, this.options);
    const request = (): Request | null => this.makeRequest(key);
    const shared = { query, users: 0, stop: (): void => undefined };
    query.setRequest(request());
    this.#queries.set(key, shared);
    // Outside the effect that subscribes: an effect inside it is not updated any more when both
    // depend on the same state.
    queueMicrotask(() => {
      if (shared.users > 0) shared.stop = $effect.root(() => query.follow(request));
    });
    return shared;
  }
}
