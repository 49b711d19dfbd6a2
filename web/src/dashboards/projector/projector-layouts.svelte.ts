import type { Query } from '../../api/create-query.svelte';
import type {
  DensityResponse,
  EmbeddingInfo,
  MatchResponse,
  Problem,
  QualityResponse,
  RegionsResponse,
} from '../../api/schemas';
import type { Context } from '../../plugin/context';
import {
  type BoundingSphere,
  computeBounds,
  normalizePositions,
  type PointPositions,
} from '../../charts/points/point-scene';
import {
  type EmbeddingCatalog,
  type EmbeddingReference,
  MAX_MORE_OTHERS,
} from './embedding-catalog.svelte';
import { LayoutJob } from './projector-jobs.svelte';
import {
  needsConfirmation,
  getOutputDimensions,
  getPcaComponents,
  type ProjectionRequestFields,
  type ProjectorParams,
} from './projector-params';
import { densityQuery, infoQuery, matchQuery, qualityQuery, regionsQuery } from './query';

/** What layouts are computed from. */
export interface LayoutSource {
  readonly context: Context;
  readonly params: ProjectorParams;
  readonly catalog: EmbeddingCatalog;
  readonly info: Query<EmbeddingInfo>;
  /** The method and its settings; null if some are missing. */
  readonly getRequestFields: () => ProjectionRequestFields | null;
  /** The number of points to be laid out. */
  readonly getPointCount: () => number;
  /** The server draws the points. */
  readonly usesTiles: () => boolean;
}

/** A region of the layout where points are dense, with words that are typical of it. */
export interface LayoutRegion {
  readonly name: string;
  readonly count: number;
  readonly position: readonly [number, number, number];
}

/** Smaller layouts have no names of regions unless the user wants them. */
const MIN_REGION_ROWS = 200;

/** Where one of the compared embeddings has the points of the current one. */
export class ComparedLayout {
  readonly slot: number;
  readonly info: Query<EmbeddingInfo>;
  readonly job: LayoutJob;
  readonly #match: Query<MatchResponse>;
  readonly #source: LayoutSource;
  readonly #layouts: ProjectorLayouts;

  /** Call it where effects can be created. */
  constructor(source: LayoutSource, layouts: ProjectorLayouts, slot: number) {
    const { context } = source;
    const getReference = (): EmbeddingReference | null => source.catalog.getComparedReference(slot);
    // Another version of the same embedding replaces the current one when it is loaded.
    const keepPrevious = (a: { id: string }, b: { id: string }): boolean => a.id === b.id;
    this.slot = slot;
    this.#source = source;
    this.#layouts = layouts;
    this.info = context.query(infoQuery, getReference, { keepPrevious });
    this.job = new LayoutJob(
      context,
      () => this.#getRequest(getReference()),
      () => layouts.axes,
    );
    this.#match = context.query(matchQuery, () => {
      const [own, other] = [layouts.reference, getReference()];
      return own && other ? { ...own, other, column: source.params.otherBy.value } : null;
    });
  }

  get matchedCount(): number | null {
    return this.#match.data?.matched ?? null;
  }

  /** Positions of the same points; NaN for points that the embedding does not have. */
  readonly positions = $derived.by<Float32Array | null>(() => {
    const { layout } = this.job;
    const { bounds, positions: own } = this.#layouts;
    const match = this.#match.data;
    if (!layout || !match || !bounds || !own) return null;
    const compared = normalizePositions(layout, this.info.data?.rows ?? 0, bounds);
    const positions = new Float32Array(own.length).fill(NaN);
    match.rows.forEach((other, row) => {
      if (other >= 0) positions.set(compared.subarray(3 * other, 3 * other + 3), 3 * row);
    });
    return positions;
  });

  /** The positions beside those of the current embedding; null if they are not side by side. */
  readonly displayed = $derived.by<PointPositions | null>(() => {
    const current = this.positions;
    if (!current || !this.#source.params.comparisonView.value) return null;
    return { count: current.length / 3, current, previous: null };
  });

  #getRequest(other: EmbeddingReference | null) {
    const fields = this.#source.getRequestFields();
    const { main, reference } = this.#layouts;
    if (!fields || !other || !reference) return null;
    if (!main.isDone) return main.isPending ? 'pending' : null;
    const { otherBy } = this.#source.params;
    const align = main.status?.job ?? null;
    return { ...other, ...fields, rows: null, align_to: align, align_by: otherBy.value };
  }
}

/** Positions of the points by the selected method, and of those that they are compared with. */
export class ProjectorLayouts {
  readonly main: LayoutJob;
  /** The compared embedding. */
  readonly other: ComparedLayout;
  /** The compared embedding and those that can be added to it. */
  readonly compared: readonly ComparedLayout[];
  readonly quality: Query<QualityResponse>;
  /** The layout of the last version if another one is shown. */
  readonly #base: LayoutJob;
  readonly #regions: Query<RegionsResponse>;
  readonly #density: Query<DensityResponse>;
  readonly #source: LayoutSource;
  /** The request of a large layout that the user has started. */
  #confirmedKey = $state('');

  /** Call it where effects can be created. */
  constructor(source: LayoutSource) {
    const { context } = source;
    const getAxes = (): readonly number[] => this.axes;
    this.#source = source;
    this.#base = new LayoutJob(context, () => this.#getBaseRequest(), getAxes);
    this.main = new LayoutJob(
      context,
      () => this.#getMainRequest(),
      getAxes,
      () => !source.usesTiles(),
    );
    this.other = new ComparedLayout(source, this, 0);
    const more = Array.from({ length: MAX_MORE_OTHERS }, (_, index) => index + 1);
    this.compared = [this.other, ...more.map((slot) => new ComparedLayout(source, this, slot))];
    this.quality = context.query(
      qualityQuery,
      () => {
        const { status, isDone } = this.main;
        const canRate = isDone && context.supports('GET projector/quality');
        return canRate && status ? { job: status.job, axes: this.axes } : null;
      },
      { keepPrevious: false },
    );
    this.#density = context.query(densityQuery, () => this.planeRequest, { keepPrevious: false });
    const canName = context.supports('GET projector/regions');
    this.#regions = context.query(
      regionsQuery,
      () => {
        const { status, isDone } = this.main;
        if (!canName || !isDone || !status || !this.#showsRegions) return null;
        const revision = source.info.data?.revision ?? 0;
        return { job: status.job, axes: this.axes, revision };
      },
      { keepPrevious: false },
    );
  }

  /** The loaded embedding. Labels and positions must belong to the same version. */
  readonly reference = $derived.by<EmbeddingReference | null>(() => {
    const info = this.#source.info.data;
    return info ? { id: info.id, index: info.index, mark: info.mark } : null;
  });

  readonly #request = $derived.by(() => {
    const fields = this.#source.getRequestFields();
    return this.reference && fields ? { ...this.reference, ...fields } : null;
  });

  readonly #key = $derived(JSON.stringify(this.#request));

  /** The axes of the layout that are shown. */
  readonly axes = $derived.by<readonly number[]>(() => {
    const { params } = this.#source;
    const axes =
      params.method.value === 'pca'
        ? getPcaComponents(params)
        : [0, 1, 2].slice(0, getOutputDimensions(params));
    return this.#source.usesTiles() ? axes.slice(0, 2) : axes;
  });

  /** The finished layout whose tiles are drawn, as requests name it. */
  readonly planeRequest = $derived.by<{ readonly job: string; readonly axes: number[] } | null>(
    () => {
      const { status, isDone } = this.main;
      const isTiled = this.#source.usesTiles() && isDone;
      return isTiled && status ? { job: status.job, axes: [...this.axes] } : null;
    },
  );

  /** Where the tiles are; null until the server has indexed the points. */
  get density(): DensityResponse | null {
    return this.#density.data ?? null;
  }

  get densityError(): Problem | null {
    return this.#density.error?.problem ?? null;
  }

  readonly #showsRegions = $derived.by(() => {
    const { value } = this.#source.params.regions;
    return value === 'auto' ? this.#source.getPointCount() >= MIN_REGION_ROWS : value === 'on';
  });

  /** Dense regions with names, in the coordinates of the canvas; the largest first. */
  readonly regions = $derived.by<readonly LayoutRegion[]>(() => {
    const bounds = this.bounds;
    if (!bounds) return [];
    return (this.#regions.data?.regions ?? []).map(({ name, count, position }) => {
      const along = (axis: number): number =>
        ((position[axis] ?? bounds.center[axis] ?? 0) - (bounds.center[axis] ?? 0)) / bounds.radius;
      return { name, count, position: [along(0), along(1), along(2)] };
    });
  });

  /** The layout takes so long that the user has to start it. */
  readonly needsStart = $derived.by(
    () =>
      this.#request !== null &&
      needsConfirmation(this.#source.params, this.#source.getPointCount()) &&
      this.#confirmedKey !== this.#key,
  );

  /** Settings of the method are missing. */
  readonly isIncomplete = $derived.by(() => this.reference !== null && this.#request === null);

  get rowCount(): number {
    return this.#source.info.data?.rows ?? 0;
  }

  readonly bounds = $derived.by<BoundingSphere | null>(() => {
    if (this.#source.usesTiles()) return this.density;
    return this.main.layout && computeBounds(this.main.layout);
  });

  readonly positions = $derived.by<Float32Array | null>(() => {
    const { layout } = this.main;
    const count = this.rowCount;
    if (!layout || !this.bounds || count === 0) return null;
    // The layout of another version, until that of this one is there.
    const isOfOtherSize = layout.rows === null && layout.coordinates[0]?.length !== count;
    return isOfOtherSize ? null : normalizePositions(layout, count, this.bounds);
  });

  /** Null until there are positions. With a comparison, points move to the compared ones. */
  readonly displayed = $derived.by<PointPositions | null>(() => {
    const [own, other] = [this.positions, this.other.positions];
    if (!own) return null;
    const count = own.length / 3;
    return other && !this.#source.params.comparisonView.value
      ? { count, current: other, previous: own }
      : { count, current: own, previous: null };
  });

  /** The compared embeddings that are shown side by side with this one. */
  readonly sideBySide = $derived.by<readonly ComparedLayout[]>(() =>
    this.compared.filter(({ displayed }) => displayed !== null),
  );

  /** The embedding is being loaded, or a layout computed. */
  get isPending(): boolean {
    const jobs = [this.main, this.#base, ...this.compared.map(({ job }) => job)];
    return this.#source.info.isLoading || jobs.some((job) => job.isPending);
  }

  /** The layout is large and was not started, or it was cancelled. */
  get canStart(): boolean {
    return this.needsStart || this.main.isCancelled;
  }

  start(): void {
    this.#confirmedKey = this.#key;
    if (this.main.isCancelled) this.retry();
  }

  retry(): void {
    for (const job of [this.#base, this.main]) {
      if (job.error || job.isCancelled) void job.restart();
    }
  }

  /** The last version if another one is shown. */
  readonly #alignedWith = $derived.by<EmbeddingReference | null>(() => {
    const { base } = this.#source.catalog;
    return base && base.index !== this.reference?.index ? base : null;
  });

  #getBaseRequest() {
    const base = this.#alignedWith;
    return this.#request && base && !this.needsStart ? { ...this.#request, ...base } : null;
  }

  /** Align with the last version, so that points of different steps can be compared. */
  #getMainRequest() {
    const request = this.#request;
    if (!request || this.needsStart) return null;
    if (!this.#alignedWith) return request;
    if (this.#base.isPending) return 'pending';
    return { ...request, align_to: this.#base.isDone ? (this.#base.status?.job ?? null) : null };
  }
}

const STEP_MS = 900;
const COMPARISON_MS = 1600;
const WAIT_FOR_LAYOUT_MS = 100;

/** Plays the steps of training, and animates comparisons. */
export class Playback {
  isPlaying = $state(false);
  readonly #params: ProjectorParams;
  readonly #layouts: ProjectorLayouts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;

  constructor(params: ProjectorParams, layouts: ProjectorLayouts) {
    this.#params = params;
    this.#layouts = layouts;
  }

  /** Play from the current step to the last, or from the first if it is the last; or stop. */
  togglePlay(stepCount: number, current: number, goTo: (step: number) => void): void {
    if (this.isPlaying) return this.stop();
    this.isPlaying = true;
    const next = (step: number): void => {
      goTo(step);
      if (step >= stepCount - 1) this.isPlaying = false;
      else this.#timer = setTimeout(() => this.#waitForLayout(() => next(step + 1)), STEP_MS);
    };
    next(current >= stepCount - 1 ? 0 : current + 1);
  }

  /** Move points to the compared embedding, or back. */
  animateComparison(): void {
    cancelAnimationFrame(this.#frame);
    const { comparisonProgress } = this.#params;
    const [from, to] = comparisonProgress.value < 0.5 ? [0, 1] : [1, 0];
    const startedAt = performance.now();
    const step = (now: number): void => {
      const elapsed = Math.min(1, Math.max(0, now - startedAt) / COMPARISON_MS);
      const eased = elapsed * elapsed * (3 - 2 * elapsed);
      comparisonProgress.set(Number((from + (to - from) * eased).toFixed(3)));
      if (elapsed < 1) this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  stop(): void {
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.isPlaying = false;
  }

  /** A slow layout must not make the playback skip steps. */
  #waitForLayout(next: () => void): void {
    if (!this.isPlaying) return;
    if (!this.#layouts.isPending) next();
    else this.#timer = setTimeout(() => this.#waitForLayout(next), WAIT_FOR_LAYOUT_MS);
  }
}
