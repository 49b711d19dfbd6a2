import { untrack } from 'svelte';

import { Query } from '../../api/query.svelte';
import type { DashboardApi } from '../../plugin/context';
import { computeBounds, normalizePositions, type PointPositions } from './canvas/point-scene';
import { formatAxes, LayoutJob } from './projector-jobs.svelte';
import {
  needsConfirmation,
  outputDimensions,
  pcaComponents,
  type ProjectionRequestFields,
  type ProjectorParams,
} from './projector-params';
import {
  type EmbeddingCatalog,
  type EmbeddingReference,
  formatProjectorQuery,
} from './query.svelte';
import type { MatchResponse, QualityResponse } from './schemas';

/** How long points take to where they belong. */
const TRANSITION_MS = 450;
/** While a layout is in the making, the next places come about as soon. */
const PREVIEW_TRANSITION_MS = 140;

/** Lets points go from where they are to where they belong, so that eyes can follow. */
export class PositionTransition {
  positions = $state.raw<PointPositions | null>(null);
  /** How far they are, from 0 to 1. */
  progress = $state(1);
  isMoving = $state(false);
  #frame = 0;

  /** Points that are compared are as far as `way` says; others begin to move. */
  moveTo(places: PointPositions | null, way: number, isPreview: boolean): void {
    const before = this.positions;
    this.stop();
    if (!places || places.previous) {
      [this.positions, this.progress] = [
        places && (way === 0 ? startPositions(places) : places),
        way,
      ];
    } else if (before?.count !== places.count || !this.#canAnimate) {
      [this.positions, this.progress] = [places, 1];
    } else if (before.current !== places.current || before.previous) {
      this.positions = {
        ...places,
        previous: fillMissing(interpolatePositions(before, this.progress), places.current),
      };
      this.#animate(isPreview ? PREVIEW_TRANSITION_MS : TRANSITION_MS);
    }
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.isMoving = false;
  }

  get #canAnimate(): boolean {
    return !matchMedia('(prefers-reduced-motion: reduce)').matches;
  }

  #animate(takes_ms: number): void {
    const began = performance.now();
    this.progress = 0;
    this.isMoving = true;
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, now - began) / takes_ms);
      this.progress = share * (2 - share);
      if (share < 1) this.#frame = requestAnimationFrame(step);
      else this.#finish();
    };
    this.#frame = requestAnimationFrame(step);
  }

  #finish(): void {
    this.isMoving = false;
    if (this.positions) this.positions = { ...this.positions, previous: null };
  }
}

/** Where points are on their way; who is nowhere at one end is nowhere between. */
export function interpolatePositions(
  { current, previous }: PointPositions,
  way: number,
): Float32Array {
  if (!previous || way === 1) return current;
  if (way === 0) return previous;
  return current.map((place, at) => (previous[at] ?? 0) * (1 - way) + place * way);
}

/** All of them, with those that are on their way to nowhere. */
function startPositions(places: PointPositions): PointPositions {
  return { ...places, current: places.previous ?? places.current, previous: null };
}

/** Who comes from nowhere is there at once. */
function fillMissing(before: Float32Array, now: Float32Array): Float32Array {
  return before.map((place, at) => (Number.isNaN(place) ? (now[at] ?? NaN) : place));
}

/** Where points are, by the method that is chosen, and where those that they are compared with. */
export class ProjectorLayouts {
  readonly main: LayoutJob;
  readonly other: LayoutJob;
  /** Of the last version, where another one is looked at. */
  readonly #base: LayoutJob;
  readonly #match = new Query<MatchResponse>();
  readonly quality = new Query<QualityResponse>();
  readonly #api: DashboardApi;
  readonly #params: ProjectorParams;
  readonly #catalog: EmbeddingCatalog;
  readonly #getRequest: () => ProjectionRequestFields | null;
  readonly #getRowCount: () => number;
  /** What was asked for though it takes long. */
  #confirmedKey = $state('');

  constructor(
    api: DashboardApi,
    params: ProjectorParams,
    catalog: EmbeddingCatalog,
    find: () => ProjectionRequestFields | null,
    count: () => number,
  ) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
    this.#getRequest = find;
    this.#getRowCount = count;
    this.main = new LayoutJob(api);
    this.other = new LayoutJob(api);
    this.#base = new LayoutJob(api);
  }

  /** How many points have to be laid out. */
  #rowCount = $derived.by(() => this.#getRowCount());

  /** What there is to do; null where something is left to choose. */
  readonly #request = $derived.by(() => {
    const reference = this.#catalog.reference;
    const ask = this.#getRequest();
    return reference && ask ? { ...reference, ...ask } : null;
  });

  readonly #key = $derived(JSON.stringify(this.#request));
  /** Which of the layout's axes are looked at. */
  readonly axes = $derived.by(() =>
    this.#params.method.value === 'pca'
      ? pcaComponents(this.#params)
      : [0, 1, 2].slice(0, outputDimensions(this.#params)),
  );

  /** Whether it takes so long that somebody has to say that it is wanted. */
  readonly needsStart = $derived.by(
    () =>
      this.#request !== null &&
      needsConfirmation(this.#params, this.#rowCount) &&
      this.#confirmedKey !== this.#key,
  );

  /** Something is left to choose before there is anything to lay out. */
  readonly isIncomplete = $derived.by(() => this.#catalog.reference !== null && !this.#request);

  readonly #bounds = $derived.by(() => this.main.layout && computeBounds(this.main.layout));

  readonly positions = $derived.by<Float32Array | null>(() => {
    const { layout } = this.main;
    const count = this.#catalog.reference ? this.rowTotal : 0;
    return layout && this.#bounds && count > 0
      ? normalizePositions(layout, count, this.#bounds)
      : null;
  });

  /** Where the same points are in what it is compared with; those that are not there are nowhere. */
  readonly otherPositions = $derived.by<Float32Array | null>(() => {
    const { layout } = this.other;
    const match = this.#match.data;
    if (!layout || !match || !this.#bounds || !this.positions) return null;
    const theirs = normalizePositions(layout, this.otherRowTotal, this.#bounds);
    const places = new Float32Array(this.positions.length).fill(NaN);
    match.rows.forEach((other, row) => {
      if (other >= 0) places.set(theirs.subarray(3 * other, 3 * other + 3), 3 * row);
    });
    return places;
  });

  /** The two ways of looking, with how far points are between them; null until there are any. */
  readonly displayed = $derived.by<PointPositions | null>(() => {
    const [now, other] = [this.positions, this.otherPositions];
    if (!now) return null;
    const count = now.length / 3;
    return other
      ? { count, current: other, previous: now }
      : { count, current: now, previous: null };
  });

  get isPending(): boolean {
    return [this.main, this.#base, this.other].some((job) => job.isPending);
  }

  get matchedCount(): number | null {
    return this.#match.data?.matched ?? null;
  }

  /** All rows of the embedding, as the server knows once it is opened. */
  rowTotal = $state(0);
  otherRowTotal = $state(0);

  /** Whether there is something to start: what takes long, or was ended before it was done. */
  get canStart(): boolean {
    return this.needsStart || this.main.isCancelled;
  }

  start(): void {
    this.#confirmedKey = this.#key;
    if (this.main.isCancelled) this.retry();
  }

  /** Asks once more for what could not be had. */
  retry(): void {
    this.#run(this.needsStart ? null : this.#request, this.axes, this.#catalog.base);
  }

  /** To be called where effects live. */
  startEffects(): void {
    $effect(() => {
      const [ask, axes] = [this.#request, this.axes];
      const waits = this.needsStart;
      const base = this.#catalog.base;
      untrack(() => this.#run(waits ? null : ask, axes, base));
    });
    $effect(() => {
      const [ask, axes, other] = [this.#getRequest(), this.axes, this.#catalog.otherReference];
      const first = this.main.isDone ? (this.main.status?.job ?? null) : null;
      const by = this.#params.otherBy.value;
      untrack(() => this.#compare(ask, axes, other, first, by));
    });
    $effect(() => {
      const job = this.main.isDone ? this.main.status?.job : undefined;
      const question = job
        ? (signal: AbortSignal) =>
            this.#api.get<QualityResponse>(
              `quality?${formatProjectorQuery({ job })}&${formatAxes(this.axes)}`,
              signal,
            )
        : null;
      untrack(() => this.quality.run(question));
    });
    $effect(() => () => {
      for (const job of [this.main, this.other, this.#base]) job.stop();
      this.#match.stop();
      this.quality.stop();
    });
  }

  #run(
    ask: (EmbeddingReference & ProjectionRequestFields) | null,
    axes: readonly number[],
    base: EmbeddingReference | null,
  ): void {
    if (!ask || !base) return this.main.reset();
    const isBase = base.index === ask.index;
    void (isBase ? this.main.run(ask, axes) : this.#runAligned(base, ask, axes));
  }

  /** Turned so that points of two steps are where they can be compared. */
  async #runAligned(
    base: EmbeddingReference,
    ask: EmbeddingReference & ProjectionRequestFields,
    axes: readonly number[],
  ): Promise<void> {
    this.main.stop();
    const key = this.#key;
    await this.#base.run({ ...ask, ...base }, axes);
    const align = this.#base.isDone ? (this.#base.status?.job ?? null) : null;
    if (key === this.#key) await this.main.run({ ...ask, align }, axes);
  }

  #compare(
    ask: ProjectionRequestFields | null,
    axes: readonly number[],
    other: EmbeddingReference | null,
    first: string | null,
    by: string | null,
  ): void {
    const mine = this.#catalog.reference;
    if (!ask || !other || !mine || first === null) {
      this.other.reset();
      return this.#match.run(null);
    }
    void this.other.run({ ...other, ...ask, rows: null, align: first, align_by: by }, axes);
    this.#match.run((signal) => this.#api.post('match', { ...mine, other, column: by }, signal));
  }
}
