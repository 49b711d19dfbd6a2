import { untrack } from 'svelte';

import { QueryMap } from '../../api/create-query.svelte';
import { defineQuery } from '../../api/query-definition';
import type { GeometryRequest, GeometryResponse, Problem } from '../../api/schemas';
import type { TagCard } from '../../cards/card-sections';
import { downloadUrl } from '../../cards/export';
import {
  indexAtStep,
  makeValueRequest,
  makeValuePath,
} from '../../cards/steps/step-selection.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/mesh';
import type { MenuItem } from '../../components/MenuItems.svelte';
import { type BoundingSphere, findBoundingSphere, getByteSize, isSampled } from './mesh-geometry';
import type { MeshState, RunMeshes } from './mesh-state.svelte';

/** Points that are requested first. A static export has no more. */
const INITIAL_POINTS = 100_000;
/** Point clouds up to this size are loaded completely once a step is shown for a moment. */
const FULL_POINTS = 1_000_000;
const ALL_POINTS = 2 ** 31 - 1;
const REFINE_DELAY_MS = 300;
const MAX_CACHE_BYTES = 192 << 20;

const geometryQuery = defineQuery('GET mesh/geometry', {
  scope: 'immutable',
  cost: getByteSize,
  maxCost: MAX_CACHE_BYTES,
});

/**
 * The meshes of a card, by run. A sample of the points is loaded first and shown until all points
 * have arrived; the mesh of the previous step stays until that of the next one arrives.
 */
export class MeshCardModel {
  /** Stays when the step changes, so that growth is visible. */
  bounds = $state.raw<BoundingSphere | null>(null);
  readonly #state: MeshState;
  readonly #series: () => readonly RunMeshes[];
  readonly #step: () => number | null;
  readonly #samples: QueryMap<GeometryRequest, GeometryResponse>;
  readonly #refined: QueryMap<GeometryRequest, GeometryResponse>;
  readonly #refineRequests = new Map<string, GeometryRequest | null>();
  #boundsIncludeAllRuns = false;

  readonly #runNames = $derived.by(() => JSON.stringify(this.#series().map(({ run }) => run.name)));
  readonly geometries = $derived.by<readonly GeometryResponse[]>(() =>
    this.#series().flatMap(({ run }) => this.findGeometry(run.name) ?? []),
  );
  readonly #isPending = $derived.by(() =>
    this.#series().some(({ run }) => this.#samples.get(run.name)?.isLoading),
  );

  /** Create it where effects can be created. `series` and `step` are reactive. */
  constructor(state: MeshState, series: () => readonly RunMeshes[], step: () => number | null) {
    const { queries } = state.context;
    this.#state = state;
    this.#series = series;
    this.#step = step;
    this.#samples = new QueryMap(queries, geometryQuery, (run) => this.#makeSampleRequest(run));
    this.#refined = new QueryMap(queries, geometryQuery, (run) => this.#makeRefineRequest(run), {
      debounceMs: REFINE_DELAY_MS,
      keepPrevious: false,
    });
    $effect(() => {
      const runs = JSON.parse(this.#runNames) as readonly string[];
      const stops = [this.#samples, this.#refined].flatMap((queries) =>
        runs.map((run) => queries.subscribe(run)),
      );
      return () => stops.forEach((stop) => stop());
    });
    $effect(() => this.#includeNewRuns());
    $effect(() => (this.#isPending ? state.beginLoading() : undefined));
  }

  findGeometry(run: string): GeometryResponse | undefined {
    return this.#refined.get(run)?.data ?? this.#samples.get(run)?.data;
  }

  isLoading(run: string): boolean {
    const [sample, refined] = [this.#samples.get(run), this.#refined.get(run)];
    return !sample || sample.isLoading || (refined?.isLoading ?? false);
  }

  errorOf(run: string): Problem | null {
    const error = this.#samples.get(run)?.error ?? this.#refined.get(run)?.error;
    return error?.problem ?? null;
  }

  retry(run: string): void {
    for (const query of [this.#samples.get(run), this.#refined.get(run)])
      if (query?.error) query.retry();
  }

  /** Fit the bounds to the current meshes. */
  fitBounds(): void {
    this.bounds = findBoundingSphere(this.geometries.map(({ info }) => info)) ?? this.bounds;
  }

  #makeSampleRequest(run: string): GeometryRequest | null {
    const steps = this.#series().find((one) => one.run.name === run)?.steps;
    const position = steps ? indexAtStep(steps, this.#step()) : -1;
    if (!steps || position < 0) return null;
    const item = this.#state.settings.item.value;
    return { ...makeValueRequest(steps, position), item, max_points: INITIAL_POINTS };
  }

  #makeRefineRequest(run: string): GeometryRequest | null {
    const request = this.#makeSampleRequest(run);
    const sample = this.#samples.get(run);
    // Until the sample of the next step arrives, all points of the previous one stay.
    if (sample?.isStale) return this.#refineRequests.get(run) ?? null;
    const allPoints = this.#state.settings.allPoints.value;
    const isNeeded =
      this.#state.hasAllPoints && sample?.data && needsRefinement(sample.data, allPoints);
    const refined =
      request && isNeeded ? { ...request, max_points: allPoints ? ALL_POINTS : FULL_POINTS } : null;
    this.#refineRequests.set(run, refined);
    return refined;
  }

  /** Extend the bounds until the first mesh of every run has arrived. */
  #includeNewRuns(): void {
    const isPending = this.#isPending;
    const infos = this.geometries.map(({ info }) => info);
    if (this.#boundsIncludeAllRuns || infos.length === 0) return;
    this.bounds = findBoundingSphere(infos) ?? untrack(() => this.bounds);
    this.#boundsIncludeAllRuns = !isPending && this.bounds !== null;
  }
}

function needsRefinement(geometry: GeometryResponse, allPoints: boolean): boolean {
  if (!allPoints) return isSampled(geometry) && geometry.info.finite_count <= FULL_POINTS;
  return isSampled(geometry) || (geometry.face === null && geometry.info.face_count > 0);
}

const HEADER_HEIGHT_PX = 36;
const SLIDER_HEIGHT_PX = 36;
const MAX_CARD_HEIGHT_PX = 900;
const VIEWPORT_GAP_PX = 6;
const CARD_PADDING_PX = 10;
/** Height divided by width. */
const VIEWPORT_ASPECT_RATIO = 0.74;
const MIN_VIEWPORT_WIDTH_PX = 150;

/** Runs that are drawn in one card. */
export const MAX_RUNS = { card: 9, fullScreen: 25 };

export interface ViewportGrid {
  readonly columns: number;
  readonly rows: number;
}

/** Arrange viewports in a grid that is as square as their minimum width allows. */
export function chooseViewportGrid(count: number, width: number): ViewportGrid {
  const fitting = Math.max(
    1,
    Math.floor((width + VIEWPORT_GAP_PX) / (MIN_VIEWPORT_WIDTH_PX + VIEWPORT_GAP_PX)),
  );
  const columns = Math.max(1, Math.min(fitting, Math.ceil(Math.sqrt(count))));
  return { columns, rows: Math.max(1, Math.ceil(count / columns)) };
}

export function getMeshCardHeight(width: number, count: number, hasSlider: boolean): number {
  const inside = width - 2 * CARD_PADDING_PX;
  const { columns, rows } = chooseViewportGrid(count, inside);
  const each = ((inside - VIEWPORT_GAP_PX * (columns - 1)) / columns) * VIEWPORT_ASPECT_RATIO;
  const viewports = Math.round(rows * each + VIEWPORT_GAP_PX * (rows - 1));
  return Math.min(
    MAX_CARD_HEIGHT_PX,
    HEADER_HEIGHT_PX + viewports + CARD_PADDING_PX + (hasSlider ? SLIDER_HEIGHT_PX : 0),
  );
}

/** Runs with export items in the menu. */
const MAX_MENU_RUNS = 6;

/** Return the menu items of a card, beside those of every card. */
export function makeMeshCardMenu(
  state: MeshState,
  card: TagCard,
  model: MeshCardModel,
  series: readonly RunMeshes[],
  step: number | null,
): readonly (readonly MenuItem[])[] {
  const resetView = (): void => {
    state.resetOrbit(card.id);
    model.fitBounds();
  };
  const exported = state.context.supports('GET mesh/file') ? series.slice(0, MAX_MENU_RUNS) : [];
  return [
    [{ label: common.resetView, hint: '0', icon: 'fit', run: resetView }],
    exported.flatMap((one) => makeExportItems(state, one, series.length > 1, step)),
  ];
}

function makeExportItems(
  { context, settings }: MeshState,
  { run, steps }: RunMeshes,
  hasOtherRuns: boolean,
  step: number | null,
): MenuItem[] {
  const position = indexAtStep(steps, step);
  if (position < 0) return [];
  return (['ply', 'obj'] as const).map((format) => {
    const name = format.toUpperCase();
    return {
      label: hasOtherRuns
        ? m.menuExportRun({ format: name, run: run.label })
        : m.menuExport({ format: name }),
      ...(format === 'ply' ? { icon: 'download' as const } : {}),
      run: () => {
        const item = settings.item.value;
        downloadUrl(context.api.url(makeValuePath('file', steps, position, { item, format })));
      },
    };
  });
}
