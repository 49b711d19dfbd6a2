import { untrack } from 'svelte';

import { apiRequest } from '../../api/client';
import { isAbortError, toProblem } from '../../api/errors';
import { ListQuery, Query } from '../../api/query.svelte';
import type { Problem } from '../../api/schemas';
import type { Context, DashboardApi } from '../../plugin/context';
import { addGroups, type LoadedGroups, NO_GROUPS, type RankRanges } from './graph-model';
import type { GraphParams } from './graph-params';
import type {
  GraphRow,
  GraphsResponse,
  GroupsResponse,
  NodeResponse,
  OverviewResponse,
  PathResponse,
  SearchHitRow,
  SearchResponse,
  TraceResponse,
} from './schemas';
import { AUXILIARY_SUFFIX, MORE_SUFFIX } from './visible-graph';

/** Which graph is looked at, so that every ask names the same one. */
export interface GraphReference {
  readonly id: string;
  readonly index: number | null;
  readonly mark: number | null;
}

/** The name under which the server knows two graphs laid over each other. */
export function comparisonId(one: string, other: string): string {
  return `compare~${one}~${other}`;
}

/** A reference, and more, as the query of an address; always in the same order. */
export function formatGraphQuery(
  { id, index, mark }: GraphReference,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ id });
  if (index !== null) query.set('index', String(index));
  if (mark !== null) query.set('mark', String(mark));
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.toString();
}

/** All graphs that can be looked at, and which of them are. */
export class GraphCatalog extends ListQuery<GraphRow> {
  readonly #context: Context;
  readonly #params: GraphParams;

  constructor(context: Context, params: GraphParams) {
    super(async (signal) => (await context.api.get<GraphsResponse>('list', signal)).graphs);
    this.#context = context;
    this.#params = params;
  }

  /** The one that the address names, else the first of a run that is shown. */
  readonly current = $derived.by<GraphRow | undefined>(() => {
    const named = this.find(this.#params.graph.value);
    if (named) return named;
    const { visible } = this.#context.runs;
    for (const { name } of visible) {
      const own = this.rows.filter((row) => row.run === name);
      if (own.length > 0) return own.find(({ kind }) => kind === 'conceptual') ?? own[0];
    }
    return this.rows[0];
  });

  /** The one that it is compared with. */
  readonly other = $derived.by<GraphRow | undefined>(() => this.find(this.#params.other.value));

  readonly reference = $derived.by<GraphReference | null>(() => {
    const { current, other } = this;
    if (!current) return null;
    if (other) return { id: comparisonId(current.id, other.id), index: null, mark: null };
    const wanted = current.steps.find(({ index }) => index === this.#params.step.value);
    const step = wanted ?? current.steps.at(-1);
    return { id: current.id, index: step?.index ?? null, mark: step?.mark ?? null };
  });

  /** The same text for as long as the graph is the same. */
  readonly referenceKey = $derived(JSON.stringify(this.reference));

  /** Looks at a graph from its top, with nothing chosen. */
  open(id: string): void {
    const {
      graph,
      other,
      step,
      open,
      node,
      pathStart,
      trace,
      view,
      expandedAuxiliary,
      movedNodes,
    } = this.#params;
    graph.set(id, 'push');
    if (other.value === id) other.set('');
    for (const param of [expandedAuxiliary, movedNodes]) param.set([]);
    for (const param of [open, step, node, pathStart, view]) param.set(null);
    trace.set('off');
  }

  compareWith(id: string): void {
    this.#params.other.set(id, 'push');
    this.#params.node.set(null);
    this.#params.view.set(null);
  }

  /** Adds a file of the user's and looks at it. */
  async upload(file: File): Promise<void> {
    const path = `${this.#context.api.url('upload')}?name=${encodeURIComponent(file.name)}`;
    const row = await apiRequest<GraphRow>(path, { method: 'POST', body: file });
    this.rows = [...this.rows, row];
    this.open(row.id);
  }
}

/** So many nodes of a group are asked for at first, and again each time somebody wants more. */
export const GROUP_PAGE_SIZE = 200;
/** The server sends at most so many nodes of a group. */
const MAX_GROUP_NODES = 2000;

/** What is known of the graph that is looked at. */
export class GroupsQuery {
  loaded = $state.raw<LoadedGroups>(NO_GROUPS);
  overview = $state.raw<OverviewResponse | null>(null);
  error = $state.raw<Problem | null>(null);
  isLoading = $state(false);
  readonly #api: DashboardApi;
  #abortController = new AbortController();
  #reference: GraphReference | null = null;
  #foldSeries = true;
  /** Of which groups more was asked for, and how many pages. */
  #pages: Readonly<Record<string, number>> = {};

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /**
   * Forgets the graph before and begins with another. `choose` is told what had better be open and
   * says what is to be, so that the first picture is whole.
   */
  async openGraph(
    reference: GraphReference,
    fold: boolean,
    choose: (first: readonly string[]) => readonly string[],
  ): Promise<void> {
    this.#abortController.abort();
    this.#abortController = new AbortController();
    [this.#reference, this.#foldSeries] = [reference, fold];
    this.#pages = {};
    [this.loaded, this.overview, this.error] = [NO_GROUPS, null, null];
    const { signal } = this.#abortController;
    const about = await this.#fetchOverview(reference);
    if (about && !signal.aborted) await this.#fetchRoot(choose(about.open));
  }

  /** Asks for those of some groups that are not known. */
  async loadMissing(groups: readonly string[]): Promise<void> {
    const missing = groups.filter((id) => !this.loaded.has(id));
    if (missing.length > 0) await this.#fetchGroups(missing);
  }

  /** More of a group than its first nodes. */
  async loadMore(group: string): Promise<void> {
    this.#pages = { ...this.#pages, [group]: (this.#pages[group] ?? 1) + 1 };
    await this.#fetchGroups([group]);
  }

  /** Whether the server would send more of a group. */
  hasMore(group: string): boolean {
    const known = this.loaded.get(group);
    return known !== undefined && known.nodes.length < Math.min(known.total, MAX_GROUP_NODES);
  }

  async retry(): Promise<void> {
    if (this.#reference) await this.openGraph(this.#reference, this.#foldSeries, (first) => first);
  }

  stop(): void {
    this.#abortController.abort();
  }

  /** A group of an old link that is no more must not keep the rest from being seen. */
  async #fetchRoot(open: readonly string[]): Promise<void> {
    await this.#fetchGroups(['', ...open]);
    if (this.error && open.length > 0) await this.#fetchGroups(['']);
  }

  async #fetchGroups(groups: readonly string[]): Promise<void> {
    const { signal } = this.#abortController;
    const wanted = Math.max(...groups.map((group) => GROUP_PAGE_SIZE * (this.#pages[group] ?? 1)));
    const most = Math.min(wanted, MAX_GROUP_NODES);
    const body = { ...this.#reference, groups, fold: this.#foldSeries, most };
    await this.#run(async () => {
      const answer = await this.#api.post<GroupsResponse>('groups', body, signal);
      if (!signal.aborted) this.loaded = addGroups(this.loaded, answer.groups);
    });
  }

  async #fetchOverview(reference: GraphReference): Promise<OverviewResponse | null> {
    const { signal } = this.#abortController;
    await this.#run(async () => {
      const about = await this.#api.get<OverviewResponse>(
        `about?${formatGraphQuery(reference)}`,
        signal,
      );
      if (!signal.aborted) this.overview = about;
    });
    return this.overview;
  }

  async #run(work: () => Promise<void>): Promise<void> {
    this.isLoading = true;
    try {
      await work();
      this.error = null;
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    } finally {
      this.isLoading = false;
    }
  }
}

const MAX_SEARCH_HITS = 100;
/** While somebody types, so long is waited for the next letter. */
const SEARCH_DEBOUNCE_MS = 120;

/** What was looked for in the graph, and found. */
export class NodeSearchQuery {
  readonly #api: DashboardApi;
  readonly #params: GraphParams;
  readonly #catalog: GraphCatalog;
  readonly #query = new Query<SearchResponse>();

  constructor(api: DashboardApi, params: GraphParams, catalog: GraphCatalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  get hits(): readonly SearchHitRow[] {
    return this.#query.data?.hits ?? [];
  }

  get total(): number {
    return this.#query.data?.total ?? 0;
  }

  get isReady(): boolean {
    return this.#query.data !== null;
  }

  get error(): Query<SearchResponse>['error'] {
    return this.#query.error;
  }

  /** To be called where effects live. */
  startEffects(): void {
    $effect(() => {
      const { reference } = this.#catalog;
      const [query, fold] = [
        this.#params.query.value.trim(),
        this.#params.foldSeries.value ? '1' : '0',
      ];
      if (query === '' || !reference) return untrack(() => this.#query.run(null));
      const asked = formatGraphQuery(reference, { query, fold, most: String(MAX_SEARCH_HITS) });
      const timer = setTimeout(
        () => this.#query.run((signal) => this.#api.get(`search?${asked}`, signal), true),
        SEARCH_DEBOUNCE_MS,
      );
      return () => clearTimeout(timer);
    });
    $effect(() => () => this.#query.stop());
  }
}

/** All that is known of the chosen node. */
export class NodeDetailsQuery {
  readonly #api: DashboardApi;
  readonly #params: GraphParams;
  readonly #catalog: GraphCatalog;
  readonly #node = new Query<NodeResponse>();

  constructor(api: DashboardApi, params: GraphParams, catalog: GraphCatalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  get node(): NodeResponse | null {
    return this.#node.data;
  }

  get error(): Query<NodeResponse>['error'] {
    return this.#node.error;
  }

  /** To be called where effects live. */
  startEffects(): void {
    $effect(() => {
      const { reference, current } = this.#catalog;
      const path = this.#params.node.value;
      const profile = this.#params.profile.value || current?.profiles[0];
      const fold = this.#params.foldSeries.value ? '1' : '0';
      const more = { fold, ...(profile ? { profile } : {}) };
      const isReal =
        path !== null && !path.endsWith(MORE_SUFFIX) && !path.endsWith(AUXILIARY_SUFFIX);
      const question =
        reference && isReal
          ? (signal: AbortSignal): Promise<NodeResponse> =>
              this.#api.get(`node?${formatGraphQuery(reference, { path, ...more })}`, signal)
          : null;
      untrack(() => this.#node.run(question, true));
    });
    $effect(() => () => this.#node.stop());
  }
}

/** Ways through the graph from the chosen node: to all that it needs or feeds, or to one other. */
export class PathTracing {
  readonly inputs = new Query<TraceResponse>();
  readonly outputs = new Query<TraceResponse>();
  readonly path = new Query<PathResponse>();
  readonly #api: DashboardApi;
  readonly #params: GraphParams;
  readonly #catalog: GraphCatalog;

  constructor(api: DashboardApi, params: GraphParams, catalog: GraphCatalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  /** What is on the ways; null where none is looked for. */
  readonly tracedRanks = $derived.by<readonly RankRanges[] | null>(() => {
    const path = this.path.data;
    if (this.#params.pathStart.value !== null && path) return [path];
    if (this.#params.trace.value === 'off') return null;
    const found = [this.inputs.data, this.outputs.data].filter((answer) => answer !== null);
    return found.length > 0 ? found : null;
  });

  /** To be called where effects live. */
  startEffects(): void {
    $effect(() => this.#trace('inputs'));
    $effect(() => this.#trace('outputs'));
    $effect(() => {
      const { reference } = this.#catalog;
      const [start, end] = [this.#params.pathStart.value, this.#params.node.value];
      const fold = this.#params.foldSeries.value ? '1' : '0';
      const question =
        reference && start !== null && end !== null && start !== end
          ? (signal: AbortSignal): Promise<PathResponse> =>
              this.#api.get(`path?${formatGraphQuery(reference, { start, end, fold })}`, signal)
          : null;
      untrack(() => this.path.run(question));
    });
    $effect(() => () => [this.inputs, this.outputs, this.path].forEach((ask) => ask.stop()));
  }

  #trace(direction: 'inputs' | 'outputs'): void {
    const { reference } = this.#catalog;
    const [path, trace] = [this.#params.node.value, this.#params.trace.value];
    const isWanted = trace === direction || trace === 'both';
    const question =
      reference && path !== null && isWanted
        ? (signal: AbortSignal): Promise<TraceResponse> =>
            this.#api.get(`trace?${formatGraphQuery(reference, { path, direction })}`, signal)
        : null;
    untrack(() => this[direction].run(question, true));
  }
}
