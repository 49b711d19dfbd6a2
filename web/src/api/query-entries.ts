import type { QueryError } from './errors';
import type { AnyDefinition, Priority, RevisionScope } from './query-definition';

/** Revision of an entry that must be fetched whatever the revision of the log is. */
export const NEVER = -1;
const DEFAULT_MAX_COST = 200;
const MAX_INTERNED = 256;

/** A user of an entry, which is notified of changes. */
export interface Watcher {
  readonly priority: Priority;
  onChange(entry: Entry): void;
}

/** The result of one request, or of one part of a batched request. */
export interface Entry {
  readonly group: Group;
  readonly request: unknown;
  /** Entries with the same number can be in one batch. */
  readonly sharedId: number;
  /** The server refused a batch with this entry, so it is sent by itself. */
  isAlone: boolean;
  data: unknown;
  hasData: boolean;
  error: QueryError | null;
  bug: { readonly error: unknown } | null;
  flight: Flight | null;
  /** Revision that the last completed attempt saw; `NEVER` if the entry must be fetched. */
  revision: number;
  /** Revision when the last attempt was sent. */
  sentRevision: number;
  failures: number;
  /** Times in milliseconds: last attempt, earliest next attempt, next poll. */
  attemptedAt: number;
  notBefore: number;
  pollAt: number;
  cost: number;
  readonly watchers: Set<Watcher>;
}

/** All entries of one definition. */
export interface Group {
  readonly definition: AnyDefinition;
  /** Least recently used first. */
  readonly entries: Map<string, Entry>;
  cost: number;
  inFlight: number;
  /** Refreshes wait until this time, except for entries that have not had theirs since `waveStart`. */
  restUntil: number;
  waveStart: number;
  isFirst: boolean;
}

/** One request to the transport. */
export interface Flight {
  readonly group: Group;
  readonly entries: readonly Entry[];
  readonly controller: AbortController;
  readonly isProbe: boolean;
}

/** The entries of a cache, by definition and request. */
export class EntryTable {
  readonly revisions = new Revisions();
  readonly #groups = new Map<AnyDefinition, Group>();
  readonly #sharedIds = new WeakMap<object, number>();
  readonly #idsByText = new Map<string, number>();
  #idCount = 0;

  /** Large parts of requests that many keys share are replaced by a number. */
  makeKey({ batch, route }: AnyDefinition, request: unknown): string {
    if (!batch) return `${route} ${JSON.stringify(request)}`;
    return `${route} ${this.#intern(batch.shared(request))} ${JSON.stringify(batch.item(request))}`;
  }

  /** Return the same number for equal objects. */
  #intern(shared: object): number {
    const known = this.#sharedIds.get(shared);
    if (known !== undefined) return known;
    const text = JSON.stringify(shared);
    const id = this.#idsByText.get(text) ?? this.#idCount++;
    // Reinserted as the most recent. A forgotten text only means that an entry is fetched again.
    this.#idsByText.delete(text);
    this.#idsByText.set(text, id);
    this.#sharedIds.set(shared, id);
    const [oldest = ''] = this.#idsByText.keys();
    if (this.#idsByText.size > MAX_INTERNED) this.#idsByText.delete(oldest);
    return id;
  }

  find(definition: AnyDefinition, request: unknown): Entry | undefined {
    return this.#groups.get(definition)?.entries.get(this.makeKey(definition, request));
  }

  list(definition: AnyDefinition): readonly Entry[] {
    return [...(this.#groups.get(definition)?.entries.values() ?? [])];
  }

  clear(): void {
    this.#groups.clear();
  }

  /** Return the entry of a request, which is created if necessary. */
  get(definition: AnyDefinition, request: unknown): Entry {
    const group = this.#getGroup(definition);
    const key = this.makeKey(definition, request);
    const entry = group.entries.get(key) ?? this.#makeEntry(group, request);
    group.entries.delete(key);
    group.entries.set(key, entry);
    return entry;
  }

  #makeEntry(group: Group, request: unknown): Entry {
    const { batch } = group.definition;
    return {
      group,
      request,
      sharedId: batch ? this.#intern(batch.shared(request)) : 0,
      isAlone: false,
      data: undefined,
      hasData: false,
      error: null,
      bug: null,
      revision: NEVER,
      sentRevision: NEVER,
      failures: 0,
      attemptedAt: NEVER,
      notBefore: 0,
      pollAt: Infinity,
      cost: 0,
      flight: null,
      watchers: new Set(),
    };
  }

  #getGroup(definition: AnyDefinition): Group {
    const known = this.#groups.get(definition);
    if (known) return known;
    const group: Group = {
      definition,
      entries: new Map(),
      cost: 0,
      inFlight: 0,
      restUntil: 0,
      waveStart: 0,
      isFirst: true,
    };
    this.#groups.set(definition, group);
    return group;
  }

  getRevision({ group, request }: Entry): number {
    const { scope } = group.definition;
    return this.revisions.get(typeof scope === 'function' ? scope(request) : scope);
  }

  isFresh(entry: Entry): boolean {
    return entry.revision !== NEVER && entry.revision === this.getRevision(entry);
  }

  /**
   * Delete unused entries until the group is within its limit: those that exceed it by
   * themselves, then the least recently used.
   */
  evict(group: Group): void {
    const { maxCost = DEFAULT_MAX_COST } = group.definition;
    if (group.cost <= maxCost) return;
    const unused = [...group.entries].filter(
      ([, { watchers, flight }]) => watchers.size === 0 && !flight,
    );
    unused.sort(([, one], [, other]) => +(other.cost > maxCost) - +(one.cost > maxCost));
    for (const [key, { cost }] of unused) {
      if (group.cost <= maxCost) return;
      group.entries.delete(key);
      group.cost -= cost;
    }
  }

  /** Store a result as the data of the revision that was current when it was requested. */
  store(entry: Entry, data: unknown, revision: number): void {
    const { group } = entry;
    const { cost, poll } = group.definition;
    const delay = poll?.(data, entry.data) ?? null;
    entry.pollAt = delay === null ? Infinity : performance.now() + delay;
    const size = cost?.(data) ?? 1;
    group.cost += size - entry.cost;
    [entry.data, entry.hasData, entry.cost, entry.revision] = [data, true, size, revision];
    [entry.error, entry.bug, entry.failures, entry.notBefore] = [null, null, 0, 0];
  }
}

/** Counts changes of the log, so that data read before a change can be recognized as stale. */
export class Revisions {
  #count = 0;
  /** Values of the counter at the last change of any run, of all runs, of everything, of runs and events. */
  #log = 0;
  #allRuns = 0;
  #reset = 0;
  readonly #runs = new Map<string, number>();
  readonly #events = new Map<string, number>();
  /** Requests of many charts name the same hundreds of runs. */
  readonly #known = new WeakMap<
    readonly string[],
    { readonly at: number; readonly value: number }
  >();

  /** Mark runs as changed; null if they are not known. */
  markRuns(names: Iterable<string> | null): void {
    this.#log = ++this.#count;
    if (names === null) this.#allRuns = this.#count;
    else for (const name of names) this.#runs.set(name, this.#count);
  }

  /** Everything may have changed, also what events report. */
  markLog(): void {
    this.#reset = this.#allRuns = this.#log = ++this.#count;
  }

  markEvent(name: string): void {
    this.#events.set(name, ++this.#count);
  }

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
