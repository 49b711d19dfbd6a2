import type { QueryCache } from './query-cache';
import {
  IDLE,
  type ObserveOptions,
  type QueryDefinition,
  type QueryState,
} from './query-definition';
import type { Entry, Watcher } from './query-entries';

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
    const { superseded = 'abort' } = this.#definition;
    const policy = typeof superseded === 'function' ? superseded(before, next) : superseded;
    if (policy === 'abort' || !isKept) this.#releaseFinishing();
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
