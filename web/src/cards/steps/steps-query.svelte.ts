import { QueryMap } from '../../api/create-query.svelte';
import { definePluginQuery, type QueryDefinition } from '../../api/query-definition';
import type { Problem, StepsRequest, StepsResponse } from '../../api/schemas';
import type { CardGridState } from '../card-grid.svelte';
import type { Card } from '../card-sections';
import { mergeSteps, runSteps, type SortedSteps } from './step-series';

interface TagStepsRequest {
  readonly view: { readonly runs: readonly string[] | null };
  readonly tag: string;
}

type StepsDefinition = QueryDefinition<TagStepsRequest, readonly SortedSteps[]>;

/** Tags per request: with more, the first cards would wait for the last. */
const MAX_TAGS_PER_REQUEST = 16;

const definitions = new Map<string, StepsDefinition>();

/** Return the query for the steps of a tag; all dashboards of media have the same route. */
export function getStepsQuery(dashboard: string): StepsDefinition {
  const known = definitions.get(dashboard);
  if (known) return known;
  const definition: StepsDefinition = definePluginQuery<
    TagStepsRequest,
    StepsRequest,
    StepsResponse,
    readonly SortedSteps[]
  >(`POST ${dashboard}/steps`, {
    scope: ({ view }) => view,
    minRefreshMs: 500,
    batch: {
      shared: ({ view }) => view,
      item: ({ tag }) => tag,
      maxItems: MAX_TAGS_PER_REQUEST,
      join: (requests) => ({
        tags: requests.map(({ tag }) => tag),
        runs: requests[0]?.view.runs ?? null,
      }),
      split: ({ series }, requests) =>
        requests.map(({ tag }) => series.filter((one) => one.tag === tag).map(runSteps)),
    },
  });
  definitions.set(dashboard, definition);
  return definition;
}

/** Loads the steps of the visible tags. Create it where effects can be created. */
export class StepsQuery {
  readonly #grid: CardGridState<Card>;
  readonly #tags: QueryMap<TagStepsRequest, readonly SortedSteps[]>;
  readonly #view = $derived.by(() => ({ runs: this.#grid.requestedRuns }));

  /** Steps of all visible cards or of the full-screen card, sorted. */
  readonly allSteps = $derived.by(() => {
    const full = this.#grid.settings.fullScreen.value;
    const tags = full !== null && this.#tags.has(full) ? [full] : this.#tags.keys;
    return mergeSteps(tags.flatMap((tag) => this.get(tag) ?? []));
  });

  constructor(grid: CardGridState<Card>) {
    this.#grid = grid;
    this.#tags = new QueryMap(grid.context.queries, getStepsQuery(grid.info.name), (tag) => ({
      view: this.#view,
      tag,
    }));
  }

  /** Keep the steps of a tag up to date until the returned function is called. */
  subscribe(tag: string): () => void {
    return this.#tags.subscribe(tag);
  }

  /** Return the steps of the visible runs in their order; undefined while loading. */
  get(tag: string): readonly SortedSteps[] | undefined {
    const series = this.#tags.get(tag)?.data;
    if (!series) return undefined;
    const byRun = new Map(series.map((steps) => [steps.run, steps]));
    return this.#grid.context.runs.visible.flatMap(({ name }) => byRun.get(name) ?? []);
  }

  errorOf(tag: string): Problem | null {
    return this.#tags.get(tag)?.error?.problem ?? null;
  }

  retry(tag: string): void {
    this.#tags.get(tag)?.retry();
  }
}
