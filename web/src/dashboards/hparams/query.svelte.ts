/**
 * The queries of the dashboard. The server calls a trial a session. Those of a large log are filtered, sorted
 * and counted by the server; the page loads some.
 */
import { untrack } from 'svelte';

import { createQuery, type Query, QueryMap } from '../../api/create-query.svelte';
import type { QueryError } from '../../api/errors';
import { defineQuery } from '../../api/query-definition';
import type {
  Facet,
  FacetsRequest,
  FacetsResponse,
  GroupQuery,
  ImportanceRequest,
  SessionsRequest,
  SessionsResponse,
  TrialFilter,
  TrialQuery,
  TrialsRequest,
  TrialsResponse,
} from '../../api/schemas';
import { compileTextFilter } from '../../lib/text-filter';
import type { Context } from '../../plugin/context';
import type { HParamsSettings } from './hparams-settings';
import type { AxisScale } from './model/column-axes';
import type { ColumnFilter } from './model/trial-filters';
import type { TrialColumn } from './model/trials';
import { applyTrialsUpdate, joinTrials } from './model/trials-response';

/** All trials. Later responses have only the rows that changed. */
export const sessionsQuery = defineQuery('GET hparams/sessions', {
  scope: 'log',
  update: {
    request: (request, { revision }) => ({ ...request, since: revision }),
    merge: (data: SessionsResponse, changes) =>
      changes.since === null ? changes : applyTrialsUpdate(data, changes),
  },
});

/** Some trials of a large log: a page of the table, and a sample for plots. */
const trialsQuery = defineQuery('POST hparams/trials', {
  scope: 'log',
  minRefreshMs: 2000,
  maxCost: 10,
});

/** The distributions of columns over all trials of a large log. */
const facetsQuery = defineQuery('POST hparams/facets', {
  scope: 'log',
  minRefreshMs: 2000,
  maxCost: 10,
});

/** Return how metrics are reduced and repeats aggregated. A static export has only `last`. */
export function makeSessionsRequest(settings: HParamsSettings): SessionsRequest {
  const { reduction, lastCount, step, repeats, study } = settings;
  return {
    reduction: reduction.value,
    ...(repeats.value === 'each' ? {} : { aggregation: repeats.value }),
    ...(reduction.value === 'mean' ? { count: lastCount.value } : {}),
    ...(reduction.value === 'step' ? { step: step.value } : {}),
    ...(study.value === null ? {} : { study: study.value }),
  };
}

export const importanceQuery = defineQuery('POST hparams/importance', {
  scope: 'log',
  minRefreshMs: 1500,
  maxCost: 20,
});

/**
 * `sessions` are the trials that pass the filters, by name or, in a large log, as a query; null means
 * all.
 */
export function makeImportanceRequest(
  settings: HParamsSettings,
  metric: string,
  sessions: readonly string[] | TrialQuery | null,
): ImportanceRequest {
  const { reduction, lastCount, step, repeats, study } = settings;
  return {
    metric,
    reduction: reduction.value,
    count: lastCount.value,
    step: step.value,
    aggregation: repeats.value === 'each' ? null : repeats.value,
    study: study.value,
    ...(sessions === null || isList(sessions) ? { sessions } : { query: sessions }),
  };
}

function isList(sessions: readonly string[] | TrialQuery): sessions is readonly string[] {
  return Array.isArray(sessions);
}

/** The curves of a metric of many trials. */
export const curvesQuery = defineQuery('POST hparams/sparklines', {
  scope: 'log',
  minRefreshMs: 1500,
  maxCost: 5,
});

export interface SparklineRequest {
  readonly view: { readonly metric: string };
  readonly session: string;
}

const SPARKLINE_POINTS = 40;

/** The values of a metric of one trial; null if it does not have the metric. */
export const sparklineQuery = defineQuery('POST hparams/sparklines', {
  scope: 'log',
  maxCost: 1000,
  batch: {
    shared: ({ view }: SparklineRequest) => view,
    item: ({ session }) => session,
    maxItems: 100,
    join: (requests) => ({
      metric: requests[0]?.view.metric ?? '',
      sessions: requests.map(({ session }) => session),
      points: SPARKLINE_POINTS,
    }),
    split: ({ lines }, requests): (Float32Array | null)[] => {
      const bySession = new Map(lines.map(({ session, y }) => [session, y]));
      return requests.map(({ session }) => bySession.get(session) ?? null);
    },
  },
});

const PAGE_ROWS = 200;
/** Pages of rows that are kept up to date: those on the screen and the last ones before. */
const MAX_PAGES = 4;
/** Trials in plots: a random sample of those that pass the filters, and of the others. */
const SAMPLE_ROWS = 2000;
const OTHER_ROWS = 500;
export const FACET_BINS = 32;

/** What the filter panel shows, and on which scales. */
interface FacetColumns {
  readonly columns: readonly TrialColumn[];
  getScale(column: TrialColumn): AxisScale;
}

export class PagedTrials {
  readonly #pages: QueryMap<TrialsRequest, TrialsResponse>;
  #facets = $state.raw<Query<FacetsResponse> | null>(null);
  #pageNumbers = $state.raw<readonly number[]>([0]);
  #subscriptions = new Map<number, () => void>();
  readonly #context: Context;
  readonly #settings: HParamsSettings;

  /** Which trials, in which order; null if the log is not large. */
  readonly query: TrialQuery | null = $derived.by(() => {
    const { matching } = this.#context.runs;
    return matching ? makeTrialQuery(this.#settings, matching) : null;
  });
  readonly #columns: readonly string[] = $derived.by(() => {
    const { addedColumns, colorBy, contourX, contourY, paretoX, paretoY, distributionBy } =
      this.#settings;
    const chosen = [colorBy, contourX, contourY, paretoX, paretoY, distributionBy];
    const keys = [...addedColumns.value, ...chosen.flatMap(({ value }) => value ?? [])];
    return [...new Set(keys)].sort();
  });
  readonly #first: TrialsResponse | undefined = $derived.by(() => this.#pages.get('0')?.data);
  readonly #responses: readonly (readonly [number, TrialsResponse])[] = $derived.by(() =>
    this.#pageNumbers.flatMap((number) => {
      const data = this.#pages.get(String(number))?.data;
      return data ? [[number, data] as const] : [];
    }),
  );
  readonly #joined = $derived.by(() => joinTrials(this.#responses.map(([, { table }]) => table)));

  /** The loaded trials. */
  readonly data: SessionsResponse | undefined = $derived.by(() => this.#joined?.table);
  /** For each trial that passes the filters its row among the loaded ones, in order. */
  readonly rows: readonly (number | undefined)[] = $derived.by(() => {
    const rows = new Array<number | undefined>(this.matched);
    for (const [number, { page }] of this.#responses)
      page.forEach((index, at) => {
        const position = number * PAGE_ROWS + at;
        if (position < rows.length) rows[position] = this.#joined?.rowOf.get(index);
      });
    return rows;
  });
  /** 1 for the loaded trials that plots show. */
  readonly drawnMask: Uint8Array = $derived.by(() => {
    const mask = this.#makeMask(this.#first?.sample);
    this.#makeMask(this.#first?.others).forEach((value, row) => (mask[row] ||= value));
    return mask;
  });
  /** 1 for trials in plots that may pass the filters of the columns: their runs match. */
  readonly candidateMask: Uint8Array = $derived.by(() =>
    this.query?.runs?.filter || this.query?.runs?.selection
      ? this.#makeMask(this.#first?.sample)
      : this.drawnMask,
  );
  readonly bestRow: number | null = $derived.by(() => {
    const best = this.#first?.best ?? null;
    return best === null ? null : (this.#joined?.rowOf.get(best) ?? null);
  });
  readonly #facetsByKey: ReadonlyMap<string, Facet> = $derived.by(
    () => new Map(this.#facets?.data?.facets.map((facet) => [facet.key, facet])),
  );

  /** Call it where effects can be created. */
  constructor(context: Context, settings: HParamsSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#pages = new QueryMap(
      context.queries,
      trialsQuery,
      (number) => this.query && { ...this.query, ...this.#makePage(Number(number)) },
      { keepPrevious: ({ offset = 0 }) => offset === 0 },
    );
    $effect(() => {
      const numbers = this.#pageNumbers;
      untrack(() => this.#subscribe(numbers));
    });
    $effect(() => () => untrack(() => this.#subscribe([])));
  }

  /** Follow the distributions of some columns; null if none are shown. */
  followFacets(getColumns: () => FacetColumns | null): void {
    this.#facets = createQuery(
      this.#context.queries,
      facetsQuery,
      () => makeFacetsRequest(this.query, getColumns()),
      { keepPrevious: () => true },
    );
  }

  get isUsed(): boolean {
    return this.query !== null;
  }

  get total(): number {
    return this.#first?.total ?? 0;
  }

  get matched(): number {
    return this.#first?.matched ?? 0;
  }

  /** The number of trials in plots that pass the filters. */
  get sampled(): number {
    return this.#first?.sample.length ?? 0;
  }

  get error(): QueryError | null {
    return this.#pages.get('0')?.error ?? null;
  }

  retry(): void {
    this.#pages.get('0')?.retry();
  }

  /** Load the page of a row that is on the screen. */
  load(index: number): void {
    const number = Math.floor(index / PAGE_ROWS);
    const known = untrack(() => this.#pageNumbers);
    if (known.includes(number)) return;
    // The first page has the sample.
    const others = known.filter((other) => other !== 0).slice(-(MAX_PAGES - 2));
    this.#pageNumbers = [0, ...others, number];
  }

  findFacet(key: string): Facet | undefined {
    return this.#facetsByKey.get(key);
  }

  #makePage(number: number): Partial<TrialsRequest> {
    return {
      columns: this.#columns,
      offset: number * PAGE_ROWS,
      limit: PAGE_ROWS,
      ...(number === 0 ? { sample: SAMPLE_ROWS, others: OTHER_ROWS } : {}),
    };
  }

  #makeMask(indices: Int32Array = new Int32Array()): Uint8Array {
    const mask = new Uint8Array(this.data?.rows.names.length ?? 0);
    for (const index of indices) mask[this.#joined?.rowOf.get(index) ?? -1] = 1;
    return mask;
  }

  #subscribe(numbers: readonly number[]): void {
    const next = new Map(
      numbers.map((number) => [
        number,
        this.#subscriptions.get(number) ?? this.#pages.subscribe(String(number)),
      ]),
    );
    for (const [number, stop] of this.#subscriptions) if (!next.has(number)) stop();
    this.#subscriptions = next;
  }
}

/** Return the query of the filters and the order that the user has set. */
function makeTrialQuery(settings: HParamsSettings, runs: GroupQuery): TrialQuery {
  const { filters, sort, metric, goal } = settings;
  return {
    ...makeSessionsRequest(settings),
    filters: [...filters.value].map(([key, filter]) => makeFilter(key, filter)),
    runs,
    sort: sort.value.map(({ key, descending }) => (descending ? `-${key}` : key)),
    objective: metric.value?.replace(/^metric:/, '') ?? null,
    goal: goal.value === 'min' || goal.value === 'max' ? goal.value : null,
  };
}

/** While a regular expression is incomplete, everything matches. */
function makeFilter(
  key: string,
  { range, values, pattern = '', blank }: ColumnFilter,
): TrialFilter {
  const isValid = compileTextFilter({ text: pattern, regex: true }).error === null;
  return {
    key,
    range: range ?? null,
    values: values ?? null,
    pattern: isValid && pattern !== '' ? pattern : null,
    blank: blank ?? false,
  };
}

function makeFacetsRequest(
  query: TrialQuery | null,
  shown: FacetColumns | null,
): FacetsRequest | null {
  if (!query || !shown || shown.columns.length === 0) return null;
  const columns = shown.columns.map((column) => ({
    key: column.key,
    scale: shown.getScale(column),
  }));
  return { ...query, columns, bins: FACET_BINS };
}
