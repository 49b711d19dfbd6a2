/** The steps of tags by run: how they are loaded, sorted and merged, and which one is selected. */
import { QueryMap } from '../../api/create-query.svelte';
import { definePluginQuery, type QueryDefinition } from '../../api/query-definition';
import type { Problem, SeriesSteps, StepsResponse, ValueRequest } from '../../api/schemas';
import { encodeQuery } from '../../api/transport';
import * as m from '../../catalog/cards';
import * as common from '../../catalog/common';
import { flag, optionalNumber } from '../../lib/codecs';
import { formatStep } from '../../lib/format';
import type { Param, Shortcut, UrlState } from '../../plugin/context';
import {
  type CardGridState,
  EMPTY_PER_CARD,
  type PerCard,
  makePerCardCodec,
  withCardValue,
} from '../card-grid.svelte';
import {
  batchTags,
  type Card,
  type CardCaption,
  type TagCard,
  type TagRequest,
} from '../card-sections';

/** The steps of one tag of one run, sorted. */
export interface SortedSteps {
  readonly run: string;
  readonly tag: string;
  /** Index of each value in the log, for requests. */
  readonly index: Int32Array;
  readonly step: Float64Array;
  readonly wallTime: Float64Array;
  /** Fingerprint of each value: with it, a URL always refers to the same value. */
  readonly fingerprint: Int32Array;
}

/** Return the request for one value, with fields in the order that static exports expect. */
export function makeValueRequest(
  { run, tag, index, fingerprint }: Pick<SortedSteps, 'run' | 'tag' | 'index' | 'fingerprint'>,
  position: number,
): Required<ValueRequest> {
  return { run, tag, index: index[position] ?? 0, fingerprint: fingerprint[position] ?? 0 };
}

/**
 * Return the path of a value. It must be equal to that of `value_path` in `tracklight/analysis/media`,
 * by which static exports store values.
 */
export function makeValuePath(
  verb: string,
  steps: SortedSteps,
  position: number,
  extra: Readonly<Record<string, string | number>> = {},
): string {
  return `${verb}?${encodeQuery({ ...makeValueRequest(steps, position), ...extra })}`;
}

/** Return a series sorted by step: several workers may log out of order. */
export function runSteps({
  run,
  tag,
  index,
  step,
  wall_time,
  fingerprint,
}: SeriesSteps): SortedSteps {
  if (isSorted(step)) return { run, tag, index, step, wallTime: wall_time, fingerprint };
  const order = Array.from(step.keys()).sort((a, b) => (step[a] ?? 0) - (step[b] ?? 0));
  const pick = (column: Int32Array | Float64Array) => order.map((at) => column[at] ?? 0);
  return {
    run,
    tag,
    index: Int32Array.from(pick(index)),
    step: Float64Array.from(pick(step)),
    wallTime: Float64Array.from(pick(wall_time)),
    fingerprint: Int32Array.from(pick(fingerprint)),
  };
}

function isSorted(steps: Float64Array): boolean {
  return steps.every((step, at) => at === 0 || (steps[at - 1] ?? 0) <= step);
}

/** Return the index of the last value at or before a step; -1 if there is none. */
export function indexAtStep({ step: steps }: SortedSteps, step: number | null): number {
  return step === null ? steps.length - 1 : countUpTo(steps, step) - 1;
}

/** Return how many sorted numbers are at most `end`. */
export function countUpTo(sorted: ArrayLike<number>, end: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) <= end) low = middle + 1;
    else high = middle;
  }
  return low;
}

const NO_STEPS = new Float64Array(0);

/** Return the steps of several series, sorted and without duplicates. */
export function mergeSteps(series: readonly Pick<SortedSteps, 'step'>[]): Float64Array {
  return series.reduce<Float64Array>((merged, { step }) => merge(merged, step), NO_STEPS);
}

function merge(one: Float64Array, other: Float64Array): Float64Array {
  const merged = new Float64Array(one.length + other.length);
  let [a, b, count] = [0, 0, 0];
  while (a < one.length || b < other.length) {
    const next = Math.min(one[a] ?? Infinity, other[b] ?? Infinity);
    while (a < one.length && one[a] === next) a++;
    while (b < other.length && other[b] === next) b++;
    merged[count++] = next;
  }
  return merged.slice(0, count);
}

type TagStepsRequest = TagRequest<{ readonly runs: readonly string[] | null }>;

type StepsDefinition = QueryDefinition<TagStepsRequest, readonly SortedSteps[]>;

/** Tags per request: with more, the first cards would wait for the last. */
const MAX_TAGS_PER_REQUEST = 16;

const definitions = new Map<string, StepsDefinition>();

/** Return the query for the steps of a tag; all dashboards of media have the same route. */
export function getStepsQuery(dashboard: string): StepsDefinition {
  const known = definitions.get(dashboard);
  if (known) return known;
  const definition: StepsDefinition = definePluginQuery(`POST ${dashboard}/steps`, {
    scope: ({ view }: TagStepsRequest) => view,
    minRefreshMs: 500,
    batch: batchTags(MAX_TAGS_PER_REQUEST, ({ series }: StepsResponse) => series),
    select: (series): readonly SortedSteps[] => series.map(runSteps),
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
    const tags = full !== null && this.#tags.get(full) ? [full] : this.#tags.keys;
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

const stepsCodec = makePerCardCodec<number>(
  1,
  ([text = '']) => optionalNumber.parse(text),
  (step) => [String(step)],
);

/** The selected steps: one for all cards, or one per card. */
export class StepSelection {
  readonly linked: Param<boolean>;
  readonly #step: Param<number | null>;
  readonly #steps: Param<PerCard<number>>;

  constructor(address: UrlState) {
    this.linked = address.param('sync-steps', flag, true);
    this.#step = address.param('step', optionalNumber, null);
    this.#steps = address.param('steps', stepsCodec, EMPTY_PER_CARD);
  }

  /** The step of all linked cards; null is the last step of each. */
  get sharedStep(): number | null {
    return this.#step.value;
  }

  /** null follows the last step. */
  stepOf(cardId: string): number | null {
    return this.linked.value ? this.sharedStep : (this.#steps.value.get(cardId) ?? null);
  }

  setStep(cardId: string, step: number | null): void {
    if (this.linked.value) this.setSharedStep(step);
    else this.#steps.set(withCardValue(this.#steps.value, cardId, step));
  }

  setSharedStep(step: number | null): void {
    this.#step.set(step);
  }

  /** Clears the steps of single cards, so that linking shows the same step everywhere. */
  setLinked(linked: boolean): void {
    this.linked.set(linked);
    if (linked) this.#steps.set(EMPTY_PER_CARD);
  }
}

/** The steps of one card and the selected one. */
export class CardStepState {
  readonly #grid: CardGridState<TagCard>;
  readonly #query: StepsQuery;
  readonly #selection: StepSelection;
  readonly #card: () => TagCard;

  /** Steps per visible run; undefined while loading. */
  readonly series = $derived.by((): readonly SortedSteps[] | undefined =>
    this.#query.get(this.#card().tag),
  );
  /** Steps of all runs, sorted and without duplicates. */
  readonly allSteps = $derived.by(() => mergeSteps(this.series ?? []));
  /** null is the last step. */
  readonly step = $derived.by(() => this.#selection.stepOf(this.#card().id));
  readonly error = $derived.by((): Problem | null => this.#query.errorOf(this.#card().tag));
  readonly hasOwnSlider = $derived.by(
    () => !this.#selection.linked.value && this.allSteps.length > 1,
  );
  /** How many of the logged values a static export contains, if not all. */
  readonly exportedValues = $derived.by(() => this.#countExportedValues());
  readonly caption = $derived.by((): string | CardCaption => this.#makeCaption());

  /** Create it where effects can be created. */
  constructor(
    grid: CardGridState<TagCard>,
    query: StepsQuery,
    selection: StepSelection,
    card: () => TagCard,
  ) {
    this.#grid = grid;
    this.#query = query;
    this.#selection = selection;
    this.#card = card;
    $effect(() => query.subscribe(card().tag));
  }

  goTo(step: number | null): void {
    this.#selection.setStep(this.#card().id, step);
  }

  retry(): void {
    this.#query.retry(this.#card().tag);
  }

  #makeCaption(): string | CardCaption {
    const last = this.allSteps.at(-1);
    if (last === undefined) return '';
    if (this.exportedValues)
      return { text: m.stepsReducedInExport(this.exportedValues), alwaysVisible: true };
    return m.stepsSummary({ count: this.allSteps.length, last: formatStep(last) });
  }

  #countExportedValues(): { readonly exported: number; readonly count: number } | null {
    const { row } = this.#card();
    const count = row.count - row.overwritten;
    const exported = (this.series ?? []).reduce((sum, { step }) => sum + step.length, 0);
    return this.#grid.context.isStatic && exported < count ? { exported, count } : null;
  }
}

/** Register the keyboard shortcuts for steps; return a function that removes them. */
export function registerStepShortcuts<C extends Card & { readonly tag: string }>(
  grid: CardGridState<C>,
  selection: StepSelection,
  query: StepsQuery,
  play?: () => void,
): () => void {
  const go = (by: number) => (): void => moveStep(grid, selection, query, by);
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'ArrowLeft', label: m.stepsPrevious, run: go(-1) },
    { keys: 'ArrowRight', label: m.stepsNext, run: go(1) },
    { keys: 'Home', label: m.stepsFirst, run: go(-Infinity) },
    { keys: 'End', label: m.stepsLast, run: go(Infinity) },
    ...(play ? [{ keys: ' ', label: common.playOrPause, run: play }] : []),
  ];
  const group = grid.info.title;
  const stops = shortcuts.map((key) => grid.context.shortcuts.register({ ...key, group }));
  return () => stops.forEach((stop) => stop());
}

/** Move all cards or, if they are not linked, the active one. */
function moveStep<C extends Card & { readonly tag: string }>(
  grid: CardGridState<C>,
  selection: StepSelection,
  query: StepsQuery,
  by: number,
): void {
  const id = grid.settings.fullScreen.value ?? grid.activeCardId ?? '';
  const tag = grid.findCard(id)?.tag ?? '';
  const steps = selection.linked.value ? query.allSteps : mergeSteps(query.get(tag) ?? []);
  const last = steps.length - 1;
  const step = selection.stepOf(id);
  const at = step === null ? last : countUpTo(steps, step) - 1;
  const next = Math.min(last, Math.max(0, at + by));
  selection.setStep(id, next >= last ? null : (steps[next] ?? null));
}
