import { untrack } from 'svelte';

import { createQuery, type Query, QueryMap } from '../../api/create-query.svelte';
import { NotExportedError, type QueryError, ServerError } from '../../api/errors';
import { defineQuery } from '../../api/query-definition';
import type {
  ColoringRequest,
  ColoringResponse,
  GraphRequest,
  GraphsSearchResponse,
  GroupRequest,
  GroupResponse,
  NodeResponse,
  OverlayResponse,
  OverviewResponse,
  PathResponse,
  ScaleName,
  StatisticsResponse,
  TraceResponse,
} from '../../api/schemas';
import type { Context } from '../../plugin/context';
import type { GraphCatalog, GraphParams } from './graph-catalog.svelte';
import {
  type GraphGroup,
  isPlaceholder,
  type LoadedGroups,
  type RankRanges,
  toGraphGroup,
} from './graph-model';

// A reference has the fingerprint of the logged graph. Comparisons and uploads have none: they
// show the graphs as they were when they were opened.
const overviewQuery = defineQuery<
  'GET graphs/about',
  GraphRequest,
  OverviewResponse,
  OverviewResponse & { readonly reference: GraphRequest }
>('GET graphs/about', {
  scope: 'immutable',
  select: (overview, reference) => ({ ...overview, reference }),
});
const statisticsQuery = defineQuery('GET graphs/statistics', { scope: 'immutable', maxCost: 20 });
const overlayQuery = defineQuery('GET graphs/overlay', { scope: 'immutable', maxCost: 20 });
const coloringQuery = defineQuery('GET graphs/paint', { scope: 'immutable' });
const searchQuery = defineQuery('GET graphs/search', { scope: 'immutable', priority: 'high' });
const nodeQuery = defineQuery('GET graphs/node', { scope: 'immutable', priority: 'high' });
const traceQuery = defineQuery('GET graphs/trace', { scope: 'immutable', maxCost: 50 });
const pathQuery = defineQuery('GET graphs/path', { scope: 'immutable' });
export const weightsQuery = defineQuery('GET graphs/weights', { scope: 'immutable', maxCost: 10 });
export const changesQuery = defineQuery('GET graphs/changes', { scope: 'immutable', maxCost: 20 });

/** The server accepts this many groups in a request. */
const MAX_GROUPS = 500;

type GroupKey = Required<Pick<GroupRequest, 'id' | 'group' | 'fold' | 'limit'>> & GraphRequest;

function getSharedFields({
  id,
  index,
  fingerprint,
  fold,
  limit,
}: GroupKey): Omit<GroupKey, 'group'> {
  return { id, index: index ?? null, fingerprint: fingerprint ?? null, fold, limit };
}

const groupQuery = defineQuery<'POST graphs/groups', GroupKey, GroupResponse, GraphGroup>(
  'POST graphs/groups',
  {
    scope: 'immutable',
    batch: {
      shared: getSharedFields,
      item: ({ group }) => group,
      maxItems: MAX_GROUPS,
      join: (requests) => ({
        ...getSharedFields((requests as [GroupKey])[0]),
        groups: requests.map(({ group }) => group),
      }),
      split: ({ groups }, requests) =>
        requests.map(
          ({ group }) => groups.find(({ path }) => path === group) ?? new NotExportedError(),
        ),
    },
    select: toGraphGroup,
    cost: ({ nodes }) => nodes.length,
    maxCost: 50_000,
  },
);

/** Nodes of a group that are loaded at first, and with each "Show more". */
const GROUP_PAGE_SIZE = 200;
/** Limit of the server. */
const MAX_GROUP_NODES = 2000;
const SEARCH_DEBOUNCE_MS = 120;
/** The status of requests for a group that the graph does not have. */
const BAD_REQUEST = 400;
/** The code of the error for a graph that was logged without nodes. */
const EMPTY_GRAPH = 'graphs.empty';

const isSameGraph = (previous: GraphRequest, next: GraphRequest): boolean =>
  previous.id === next.id &&
  previous.index === next.index &&
  previous.fingerprint === next.fingerprint;

/** Everything that is loaded of the current graph. Create it where effects can be created. */
export class GraphQueries {
  readonly overview: Query<OverviewResponse & { readonly reference: GraphRequest }>;
  readonly statistics: Query<StatisticsResponse>;
  /** The uploaded node data that the nodes are colored by. */
  readonly overlay: Query<OverlayResponse>;
  readonly search: Query<GraphsSearchResponse>;
  /** Details of the selected node. */
  readonly node: Query<NodeResponse>;
  readonly inputs: Query<TraceResponse>;
  readonly outputs: Query<TraceResponse>;
  /** The shortest path to the selected node. */
  readonly path: Query<PathResponse>;
  readonly #params: GraphParams;
  readonly #catalog: GraphCatalog;
  readonly #groups: QueryMap<GroupKey, GraphGroup>;
  readonly #colorings: QueryMap<ColoringRequest, ColoringResponse>;
  /** Number of pages of groups for which more than one was requested. */
  #pages = $state.raw<Readonly<Record<string, number>>>({});
  /** Returns the scale on which nodes are colored by the server. */
  #getScale: () => ScaleName | null = () => null;

  constructor({ queries }: Pick<Context, 'queries'>, params: GraphParams, catalog: GraphCatalog) {
    this.#params = params;
    this.#catalog = catalog;
    const withReference = <Fields>(fields: Fields | null): (GraphRequest & Fields) | null =>
      catalog.reference && fields && { ...catalog.reference, ...fields };
    const fold = (): boolean => params.foldSeries.value;

    const getOverlay = () =>
      catalog.overlay === null
        ? null
        : {
            overlay: catalog.overlay,
            baseline: catalog.overlayBaseline,
            combine: params.combine.value,
          };

    this.#groups = new QueryMap(
      queries,
      groupQuery,
      (group) => {
        // When another graph is opened, there are still the queries of the groups of the last one.
        const isOpen = group === '' || this.openGroups.includes(group);
        return withReference(isOpen ? { group, fold: fold(), limit: this.#getLimit(group) } : null);
      },
      { keepPrevious: isSameGraph },
    );
    this.#colorings = new QueryMap(
      queries,
      coloringQuery,
      (group) => {
        const by = this.#getScale();
        const limit = this.#getLimit(group);
        const source = by === 'overlay' ? getOverlay() : { profile: catalog.profile };
        return withReference(by && source && { group, fold: fold(), limit, by, ...source });
      },
      { keepPrevious: false },
    );
    this.overview = createQuery(queries, overviewQuery, () => catalog.reference, {
      keepPrevious: false,
    });
    $effect(() => {
      const { current } = catalog;
      const { error } = this.overview;
      const isEmpty = error instanceof ServerError && error.code === EMPTY_GRAPH;
      if (current && isEmpty) untrack(() => catalog.markEmpty(current.id));
    });
    // Counting all nodes of a large graph takes a while; the drawing comes first.
    this.statistics = createQuery(
      queries,
      statisticsQuery,
      () => withReference(this.hasRoot ? { profile: catalog.profile } : null),
      { keepPrevious: isSameGraph },
    );
    this.overlay = createQuery(
      queries,
      overlayQuery,
      () => withReference(this.#getScale() === 'overlay' ? getOverlay() : null),
      { keepPrevious: isSameGraph },
    );
    this.search = createQuery(
      queries,
      searchQuery,
      () => {
        const query = params.query.value.trim();
        return withReference(query === '' ? null : { query, fold: fold() });
      },
      { keepPrevious: isSameGraph, debounceMs: SEARCH_DEBOUNCE_MS },
    );
    this.node = createQuery(
      queries,
      nodeQuery,
      () => {
        const path = params.node.value;
        const isNode = path !== null && !isPlaceholder(path);
        return withReference(isNode ? { path, fold: fold(), profile: catalog.profile } : null);
      },
      { keepPrevious: isSameGraph },
    );
    const trace = (direction: 'inputs' | 'outputs'): Query<TraceResponse> =>
      createQuery(
        queries,
        traceQuery,
        () => {
          const path = params.node.value;
          const isTraced = params.trace.value === direction || params.trace.value === 'both';
          return withReference(isTraced && path !== null ? { path, direction } : null);
        },
        { keepPrevious: isSameGraph },
      );
    this.inputs = trace('inputs');
    this.outputs = trace('outputs');
    this.path = createQuery(
      queries,
      pathQuery,
      () => {
        const [start, end] = [params.pathStart.value, params.node.value];
        const hasEnds = start !== null && end !== null && start !== end;
        return withReference(hasEnds ? { start, end, fold: fold() } : null);
      },
      { keepPrevious: false },
    );
    $effect.pre(() => subscribeAll(this.#groups, this.#visible));
  }

  /** Paths of the expanded groups: those in the URL, or those of the default view. */
  readonly openGroups = $derived.by<readonly string[]>(() => {
    const { data } = this.overview;
    const { reference } = this.#catalog;
    const isCurrent = data && reference && isSameGraph(data.reference, reference);
    return this.#params.open.value ?? (isCurrent ? data.default_groups : []);
  });

  /** The root and the expanded groups. */
  readonly #visible = $derived.by(() =>
    this.#catalog.reference ? ['', ...this.openGroups.slice(0, MAX_GROUPS)] : [],
  );

  /** The loaded groups among the root and the expanded groups. */
  readonly groups = $derived.by<LoadedGroups>(
    () =>
      new Map(
        this.#visible.flatMap((id) => {
          const group = this.#groups.get(id)?.data;
          return group ? [[id, group] as const] : [];
        }),
      ),
  );

  readonly hasRoot = $derived.by(() => this.#groups.get('')?.data !== undefined);

  /** Whether the view is complete: every group is loaded or has failed. */
  readonly isSettled = $derived.by(
    () =>
      (this.#params.open.value !== null || !this.overview.isLoading) &&
      this.#visible.every((id) => {
        const query = this.#groups.get(id);
        return query !== undefined && (query.data !== undefined || query.error !== null);
      }),
  );

  /** Why the drawing is incomplete. Groups of an old link that no longer exist do not matter. */
  readonly error = $derived.by<QueryError | null>(() => {
    const errors = this.#visible.flatMap((id) => {
      const error = this.#groups.get(id)?.error ?? null;
      return error && (id === '' || !isUnknownGroup(error)) ? [error] : [];
    });
    return this.overview.error ?? errors[0] ?? null;
  });

  /** The operations on the requested paths; null if none are requested. */
  readonly tracedRanges = $derived.by<readonly RankRanges[] | null>(() => {
    if (this.#params.pathStart.value !== null && this.path.data) return [this.path.data];
    const traces = [this.inputs.data, this.outputs.data].filter((data) => data !== undefined);
    return traces.length > 0 ? traces : null;
  });

  retry(): void {
    const groups = this.#visible.map((id) => this.#groups.get(id));
    for (const query of [this.overview, ...groups]) if (query?.error) query.retry();
  }

  /** Load the colors of the visible groups on a scale, which is reactive; null for none. */
  followColorings(getScale: () => ScaleName | null): void {
    this.#getScale = getScale;
    $effect.pre(() => subscribeAll(this.#colorings, getScale() ? [...this.groups.keys()] : []));
  }

  getColoring(group: string): ColoringResponse | undefined {
    return this.#colorings.get(group)?.data;
  }

  /** Whether more nodes of a group can be loaded; false while that is under way. */
  hasMore(group: string): boolean {
    const query = this.#groups.get(group);
    if (!query?.data || query.isStale) return false;
    return query.data.nodes.length < Math.min(query.data.total, MAX_GROUP_NODES);
  }

  loadMore(group: string): void {
    const key = this.#getPageKey(group);
    this.#pages = { ...this.#pages, [key]: (this.#pages[key] ?? 1) + 1 };
  }

  #getLimit(group: string): number {
    const pages = this.#pages[this.#getPageKey(group)] ?? 1;
    return Math.min(pages * GROUP_PAGE_SIZE, MAX_GROUP_NODES);
  }

  #getPageKey(group: string): string {
    return `${this.#catalog.referenceKey} ${group}`;
  }
}

function isUnknownGroup(error: QueryError): boolean {
  return error instanceof ServerError && error.status === BAD_REQUEST;
}

/** Subscribe to some keys; returns the cleanup of an effect. */
function subscribeAll<Request, Data>(
  queries: QueryMap<Request, Data>,
  keys: readonly string[],
): () => void {
  const stops = keys.map((key) => queries.subscribe(key));
  // After the next run of the effect has subscribed, so that keys in both runs keep their data.
  return () => queueMicrotask(() => stops.forEach((stop) => stop()));
}
