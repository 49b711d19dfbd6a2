/** How queries are described: routes, scopes, options and batches. */
import type { ServerError } from './errors';
import type { ChartRow as ServerChartRow, Routes } from './schemas';

export type RouteName = keyof Routes & string;
export type RequestOf<Name extends RouteName> = Routes[Name]['request'];
export type ResponseOf<Name extends RouteName> = Routes[Name]['response'];

/**
 * When cached data becomes stale: never (the request names a fingerprint), with any change of the
 * log, with a change of one of some runs (null: all), or with an event of the server.
 */
export type RevisionScope =
  'immutable' | 'log' | { readonly runs: readonly string[] | null } | { readonly event: string };

export type Priority = 'high' | 'normal' | 'low';

/** How requests are combined into one that a route with lists accepts. */
export interface Batch<Request, Sent, Response, Item> {
  /**
   * Return the part that all requests of a batch have in common. Return the same object as long as
   * possible: it may hold hundreds of run names and is compared by identity first.
   */
  shared(request: Request): object;
  /** Return the part that differs, which completes the key of the cache entry. */
  item(request: Request): unknown;
  readonly maxItems: number | ((request: Request) => number);
  /** Size of the first batch, so that something is shown early. Default: `maxItems`. */
  readonly firstItems?: number | ((request: Request) => number);
  join(requests: readonly Request[]): Sent;
  /** Return one result for each request, in their order. */
  split(response: Response, requests: readonly Request[]): readonly (Item | ServerError)[];
}

/** What a route returns, how long that stays valid and how it is requested. */
export interface QueryOptions<Request, Sent, Response, Item, Data> {
  readonly scope: RevisionScope | ((request: Request) => RevisionScope);
  readonly batch?: Batch<Request, Sent, Response, Item>;
  /** Convert a response into what the views use; called once per response. */
  readonly select?: (item: Item, request: Request) => Data;
  /** For routes that return only what changed since an earlier response; also in batches. */
  readonly update?: {
    request(request: Request, data: Data): Request;
    merge(data: Data, item: Item): Data;
  };
  /** Return after how many milliseconds to fetch again, or null when the data is final. */
  readonly poll?: (data: Data, previous: Data | undefined) => number | null;
  /** Shortest pause between two refreshes because of a new revision. Default: 1000. */
  readonly minRefreshMs?: number;
  /**
   * Return whether a request in flight is completed although the next one is needed by now, to show
   * intermediate results of a slider. Default: it is aborted.
   */
  readonly completes?: (previous: Request, next: Request) => boolean;
  /** Size of an entry in any unit. Default: 1. */
  readonly cost?: (data: Data) => number;
  /** Unused entries are evicted above this total cost. Default: 200. */
  readonly maxCost?: number;
  readonly priority?: Priority;
  /** The response is a file (`Blob`). */
  readonly isFile?: boolean;
}

/** A query that can be observed; its wire types are only known to `defineQuery`. */
export interface QueryDefinition<Request, Data> extends QueryOptions<
  Request,
  unknown,
  unknown,
  unknown,
  Data
> {
  readonly route: string;
}

/** Any definition, where its types do not matter. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- Request is both an input and an output
export type AnyDefinition = QueryDefinition<any, any>;

/**
 * Describe a query of a route. Requests of a query without `batch` are those of the route.
 *
 * ```ts
 * const bucketsQuery = defineQuery('GET histograms/buckets', { scope: 'immutable' });
 * ```
 */
export function defineQuery<
  Name extends RouteName,
  Request = RequestOf<Name>,
  Item = ResponseOf<Name>,
  Data = Item,
>(
  route: Name,
  options: QueryOptions<Request, RequestOf<Name>, ResponseOf<Name>, Item, Data>,
): QueryDefinition<Request, Data> {
  return definePluginQuery<Request, RequestOf<Name>, ResponseOf<Name>, Item, Data>(route, options);
}

/** Like `defineQuery` for routes of plugins, whose types the page does not know. */
export function definePluginQuery<Request, Sent, Response, Item = Response, Data = Item>(
  route: string,
  options: QueryOptions<Request, Sent, Response, Item, Data>,
): QueryDefinition<Request, Data> {
  // The cache passes on only what the route returned, so the types hold.
  return { route, ...options } as unknown as QueryDefinition<Request, Data>;
}

export type QueryStatus = 'idle' | 'loading' | 'refreshing' | 'ready' | 'error';

export interface ObserveOptions<Request> {
  /** Show the data of the previous request until that of the next arrives. Default: true. */
  readonly keepPrevious?: boolean | ((previous: Request, next: Request) => boolean);
  /** Wait so long after the last change of the request, for typing and pointers. */
  readonly debounceMs?: number;
  readonly priority?: Priority;
}

/** A chart; `thinned` if it is from a static export that does not have all of its points. */
export interface ChartRow extends ServerChartRow {
  readonly thinned?: boolean;
}
