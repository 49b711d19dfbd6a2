import { createContext, untrack } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import { isAbortError, toProblem } from '../../api/errors';
import type {
  EmbeddingInfo,
  EmbeddingRow,
  NeighborsResponse,
  PointResponse,
  Problem,
  ProjectorSearchResponse,
  Sentence,
  SimilarResponse,
} from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/projector';
import { translate } from '../../i18n/messages';
import type { Context, Shortcut } from '../../plugin/context';
import { Bookmarks } from './bookmarks.svelte';
import { loadSpriteSheets, type SpriteSheet } from '../../charts/points/point-scene';
import { PositionTransition } from '../../charts/points/position-transition.svelte';
import { NO_FILTERS } from './label-columns';
import { EmbeddingCatalog, type EmbeddingReference } from './embedding-catalog.svelte';
import { PointAppearance } from './point-appearance.svelte';
import { PointFilters } from './point-filters.svelte';
import { PointSelection } from './point-selection.svelte';
import { ProjectorCamera } from './projector-camera.svelte';
import { capitalize, ClusterJob } from './projector-jobs.svelte';
import { ProjectorLayouts } from './projector-layouts.svelte';
import {
  buildProjectionRequest,
  createProjectorParams,
  type DragTool,
  getOutputDimensions,
  type ProjectorParams,
  TILED_ABOVE_ROWS,
} from './projector-params';
import {
  infoQuery,
  neighborsQuery,
  pointQuery,
  searchQuery,
  similarQuery,
  spriteQuery,
} from './query';
import { encodeMask } from './row-mask';

/** Zoom on a point that was selected in a list. */
const FOCUS_ZOOM = 3;
const SEARCH_DEBOUNCE_MS = 120;

/** What the parts of the view share. */
export class ProjectorState {
  readonly context: Context;
  readonly params: ProjectorParams;
  readonly catalog: EmbeddingCatalog;
  readonly info: Query<EmbeddingInfo>;
  readonly search: Query<ProjectorSearchResponse>;
  readonly neighbors: Query<NeighborsResponse>;
  /** The points that are similar to a text or an image. */
  readonly similar: Query<SimilarResponse>;
  /** The inspected point. */
  readonly point: Query<PointResponse>;
  readonly selection: PointSelection;
  readonly layouts: ProjectorLayouts;
  readonly transition = new PositionTransition();
  readonly camera: ProjectorCamera;
  readonly clusters: ClusterJob;
  readonly filters: PointFilters;
  readonly appearance: PointAppearance;
  readonly sprites: SpriteLoader;
  readonly bookmarks: Bookmarks;
  dragTool = $state<DragTool>('move');
  /** The point under the pointer, in the canvas or in a list. */
  hoveredRow = $state<number | null>(null);
  /** An image that points are compared with, in base64. */
  similarImage = $state.raw<string | null>(null);

  /** Call it where effects can be created. */
  constructor(context: Context) {
    const params = createProjectorParams(context);
    const catalog = new EmbeddingCatalog(context, params);
    const getRowCount = (): number => this.info.data?.rows ?? 0;
    [this.context, this.params, this.catalog] = [context, params, catalog];
    // Another version of the same embedding replaces the current one when it is loaded.
    const isSameEmbedding = (a: { id: string }, b: { id: string }): boolean => a.id === b.id;
    const options = { keepPrevious: isSameEmbedding };
    this.info = context.query(infoQuery, () => catalog.reference, options);
    this.selection = new PointSelection(params, getRowCount);
    this.search = context.query(searchQuery, () => this.#getSearchRequest(), {
      debounceMs: SEARCH_DEBOUNCE_MS,
    });
    this.neighbors = context.query(neighborsQuery, () => this.#getNeighborsRequest());
    this.similar = context.query(similarQuery, () => this.#getSimilarRequest(), {
      ...{ debounceMs: SEARCH_DEBOUNCE_MS, keepPrevious: false },
    });
    this.point = context.query(pointQuery, () => {
      const row = params.point.value;
      return this.reference && row !== null ? { ...this.reference, row } : null;
    });
    this.clusters = new ClusterJob(context, params, getRowCount);
    const usesTiles = (): boolean => this.usesTiles;
    this.camera = new ProjectorCamera(params, usesTiles);
    this.filters = new PointFilters(context, params, this.info, usesTiles);
    const { info, selection, search, neighbors, clusters, filters, similar } = this;
    this.layouts = new ProjectorLayouts({
      ...{ context, params, catalog, info },
      getRequestFields: () =>
        buildProjectionRequest(params, this.isSpherized, this.selection.isolated),
      getPointCount: () => this.pointCount,
      usesTiles,
    });
    this.appearance = new PointAppearance({
      ...{ context, params, info, selection, search, neighbors, clusters, filters, similar },
      usesTiles,
    });
    this.sprites = new SpriteLoader(context, () => (this.drawsSprites ? info.data : undefined));
    this.bookmarks = new Bookmarks(context, params, selection, () => this.reference);
    $effect(() => {
      const { displayed, main } = this.layouts;
      const [progress, isPreview] = [params.comparisonProgress.value, main.isRunning];
      untrack(() => this.transition.moveTo(displayed, progress, { isPreview }));
    });
    $effect(() => () => {
      this.transition.stop();
      this.camera.stop();
    });
  }

  /** The loaded embedding, as requests name it. */
  readonly reference = $derived.by<EmbeddingReference | null>(() => {
    const info = this.info.data;
    return info ? { id: info.id, index: info.index, mark: info.mark } : null;
  });

  /** There are too many points for the page: the server draws them. */
  readonly usesTiles = $derived.by(
    () =>
      (this.info.data?.rows ?? 0) > TILED_ABOVE_ROWS && this.context.supports('GET projector/tile'),
  );

  /** Embeddings with as many dimensions, whose vectors can be compared with those of this one. */
  readonly similarSources = $derived.by<readonly EmbeddingRow[]>(() => {
    const dimensions = this.info.data?.dimensions;
    const { rows, current } = this.catalog;
    return rows.filter(({ id, problem, versions, has_labels, has_sprite }) => {
      const known = versions.at(-1)?.dimensions;
      // 0 until the file was read.
      const fits = id === current?.id || known === 0 || known === dimensions;
      return problem === null && fits && (has_labels || has_sprite);
    });
  });

  readonly similarSource = $derived.by<EmbeddingRow | undefined>(() => {
    const { value } = this.params.similarSource;
    const { current } = this.catalog;
    const sources = this.similarSources;
    return (
      sources.find(({ id }) => id === value) ??
      sources.find(({ id }) => id === current?.id) ??
      sources[0]
    );
  });

  /** Vectors are centered and normalized first. */
  readonly isSpherized = $derived.by(() => {
    const { value } = this.params.spherize;
    return value === 'auto' ? (this.info.data?.spherize ?? false) : value === 'on';
  });

  readonly drawsSprites = $derived.by(() => {
    const { value } = this.params.pointStyle;
    return value === 'pictures' || (value === 'auto' && !!this.info.data?.sprite);
  });

  /** Number of points in the layout. */
  readonly pointCount = $derived.by(
    () => this.selection.isolatedCount ?? this.info.data?.rows ?? 0,
  );

  /** Columns by which points of all compared embeddings can be matched. */
  readonly sharedColumns = $derived.by<readonly string[]>(() => {
    const { compared } = this.layouts;
    const infos = compared.flatMap(({ info }) => info.data ?? []);
    const columns = infos.length > 0 ? (this.info.data?.columns ?? []) : [];
    return columns
      .map(({ name }) => name)
      .filter((name) => infos.every((info) => info.columns.some((it) => it.name === name)));
  });

  /** In CSS pixels. */
  readonly pointSize = $derived.by(() => {
    const { pointSize, pointStyle } = this.params;
    if (pointSize.value !== null) return Math.min(200, Math.max(1, pointSize.value));
    if (pointStyle.value === 'labels') return 3;
    const { width, height } = this.camera;
    const area = (0.09 * width * height) / Math.max(1, this.layouts.rowCount);
    return this.sprites.loaded.length > 0
      ? Math.max(14, Math.min(48, 2 * Math.sqrt(area)))
      : Math.max(1.5, Math.min(7, Math.sqrt(area)));
  });

  /** What does not fit or could not be loaded. */
  readonly warnings = $derived.by<readonly string[]>(() => {
    const { info, layouts, appearance, sprites, bookmarks } = this;
    const messages = [...(info.data?.problems ?? []), ...(layouts.main.layout?.notes ?? [])];
    const errors = [
      ...layouts.compared.map(({ job }) => job.error),
      layouts.densityError,
      appearance.error,
      sprites.error,
      bookmarks.error,
    ];
    const texts = [...messages.map(toSentence), ...errors.flatMap((error) => error?.message ?? [])];
    // Several requests can fail with the same message.
    return [...new Set(texts)];
  });

  /** Show another embedding, without the settings that belong to the points of this one. */
  openEmbedding(id: string): void {
    const { embedding, other, version, point, query, orbit } = this.params;
    const { hiddenValues, filters } = this.params;
    embedding.set(id, 'push');
    if (other.value === id) other.set('');
    for (const param of [version, point, orbit]) param.set(null);
    query.set('');
    this.clearSimilar();
    hiddenValues.set([]);
    filters.set(NO_FILTERS);
    this.clusters.clear();
    this.selection.restore({ selected: null, isolated: null, hidden: null });
  }

  /** Compare with another embedding, or with none for an empty id. */
  compareWith(id: string): void {
    const { current } = this.catalog;
    const { other, otherVersion, otherBy, comparisonProgress } = this.params;
    other.set(id, 'push');
    // An embedding is compared with an earlier step of itself.
    otherVersion.set(id === current?.id ? (current.versions[0]?.index ?? null) : null);
    otherBy.set('');
    comparisonProgress.set(0);
  }

  /** Show one more embedding beside the compared one. */
  addCompared(id: string): void {
    const { moreOthers } = this.params;
    moreOthers.set([...this.catalog.moreOthers.map((row) => row.id), id], 'push');
  }

  /** Remove one of the compared embeddings; those after it move up. */
  removeCompared(slot: number): void {
    const [first, ...rest] = this.catalog.moreOthers.map(({ id }) => id);
    const { other, otherVersion, moreOthers } = this.params;
    if (slot === 0) {
      other.set(first ?? '', 'push');
      otherVersion.set(null);
      moreOthers.set(rest);
    } else {
      const more = this.catalog.moreOthers.filter((_, index) => index !== slot - 1);
      moreOthers.set(
        more.map(({ id }) => id),
        'push',
      );
    }
  }

  /** Show a point and its neighbors; null for none. */
  inspect(row: number | null): void {
    this.params.point.set(row, 'push');
  }

  focusPoint(row: number): void {
    const { positions } = this.transition;
    if (!positions) return;
    const [x = NaN, y = NaN, z = NaN] = positions.current.subarray(3 * row, 3 * row + 3);
    if (!Number.isNaN(x)) this.camera.focus([x, y, z], FOCUS_ZOOM);
  }

  /** Hide the selected points. Tiles have all points of a layout, so that they get another one. */
  hideSelection(): void {
    if (this.usesTiles) this.selection.isolateOthers();
    else this.selection.hide();
  }

  /** Select the visible points that are not selected. */
  async invertSelection(): Promise<void> {
    const { appearance, filters, selection, layouts } = this;
    const { planeRequest, density } = layouts;
    // Only the server knows which points of tiles pass the filters.
    if (!planeRequest || !density || filters.names.length === 0)
      return selection.invert(appearance.visible);
    const [x = 0, y = 0] = density.center;
    const { extent } = density;
    const [left, right, top, bottom] = [x - extent, x + extent, y + extent, y - extent];
    const { rows } = await this.context.queries.mutate('POST projector/inside', {
      ...planeRequest,
      outline: [left, bottom, right, bottom, right, top, left, top],
      filters: filters.stored,
    });
    selection.invert(selection.toMask(rows));
  }

  clearSimilar(): void {
    this.params.similarText.set('');
    this.similarImage = null;
  }

  /** Load what depends on labels again, after they were edited. */
  reloadLabels(): void {
    for (const query of [infoQuery, searchQuery, pointQuery])
      this.context.queries.invalidate(query);
  }

  /** Clear the first of these that there is: inspected point, search, selection, drag tool. */
  clearSelection(): void {
    const { point, query } = this.params;
    if (point.value !== null) this.inspect(null);
    else if (query.value !== '') query.set('');
    else if (this.selection.selectedCount > 0) this.selection.clear();
    else this.dragTool = 'move';
  }

  #getSearchRequest() {
    const { regex, column } = this.params;
    const query = this.params.query.value.trim();
    if (query === '' || !this.reference) return null;
    return { ...this.reference, query, regex: regex.value, column: column.value };
  }

  #getSimilarRequest() {
    const [source, text] = [this.similarSource, this.params.similarText.value.trim()];
    const image = this.similarImage;
    if (!this.reference || !source || (text === '' && image === null)) return null;
    const { neighborMetric, neighborCount } = this.params;
    return {
      ...this.reference,
      ...{ source: { id: source.id }, text, image, metric: neighborMetric.value },
      ...{ count: neighborCount.value, within: encodeMask(this.selection.isolated) },
    };
  }

  #getNeighborsRequest() {
    const { point, neighborMetric, neighborCount } = this.params;
    if (point.value === null || !this.reference) return null;
    return {
      ...this.reference,
      ...{ row: point.value, metric: neighborMetric.value, count: neighborCount.value },
      ...{ spherize: this.isSpherized, within: encodeMask(this.selection.isolated) },
    };
  }
}

export const [getProjectorState, setProjectorState] = createContext<ProjectorState>();

/** Return a message of the server as a sentence of its own. */
export function toSentence(message: Sentence): string {
  const text = capitalize(translate(message));
  return /[.!?。！？]$/.test(text) ? text : m.sentence({ text });
}

/** Loads the images of points tile by tile; points without one are drawn as discs. */
class SpriteLoader {
  loaded = $state.raw<readonly SpriteSheet[]>([]);
  error = $state.raw<Problem | null>(null);
  readonly #context: Context;

  /** Call it where effects can be created. */
  constructor(context: Context, getInfo: () => EmbeddingInfo | undefined) {
    this.#context = context;
    // Edited labels change the info, but not the images.
    const key = $derived(getInfo()?.sprite ? getInfo()?.mark : undefined);
    $effect(() => {
      const info = key === undefined ? undefined : untrack(getInfo);
      const controller = new AbortController();
      [this.loaded, this.error] = [[], null];
      if (info) void this.#load(info, controller.signal);
      return () => controller.abort();
    });
  }

  async #load(
    { id, index, mark, rows, sprite }: EmbeddingInfo,
    signal: AbortSignal,
  ): Promise<void> {
    if (!sprite) return;
    const { queries } = this.#context;
    try {
      await loadSpriteSheets(
        sprite,
        rows,
        (tile) => queries.fetch(spriteQuery, { id, index, mark, tile }, { signal }),
        signal,
        (sheets) => (this.loaded = sheets),
      );
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
  }
}

/** Register the keyboard shortcuts of the view; return a function that removes them. */
export function registerProjectorShortcuts(
  projector: ProjectorState,
  focusSearch: () => void,
): () => void {
  const { camera, selection, params } = projector;
  const toggleTool = (tool: DragTool) => (): void => {
    projector.dragTool = projector.dragTool === tool ? 'move' : tool;
  };
  const toggleDimensions = (): void =>
    params.dimensions.set(getOutputDimensions(params) === 2 ? '3' : '2', 'push');
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'f', label: m.searchLabel, run: focusSearch },
    { keys: 'z', label: common.fitToScreen, run: () => camera.fit() },
    { keys: 'd', label: m.shortcutDimensions, run: toggleDimensions },
    { keys: 'b', label: m.shortcutBox, run: toggleTool('box') },
    { keys: 'l', label: m.shortcutLasso, run: toggleTool('lasso') },
    { keys: 'i', label: m.shortcutIsolate, run: () => selection.isolate() },
    { keys: 'h', label: m.shortcutHide, run: () => projector.hideSelection() },
    {
      keys: 'v',
      label: common.invertSelection,
      run: () => void projector.invertSelection(),
    },
    { keys: 'a', label: m.shortcutUnhideAll, run: () => selection.showAll() },
    { keys: 'Escape', label: common.clearSelection, run: () => projector.clearSelection() },
  ];
  const removers = shortcuts.map((shortcut) =>
    projector.context.shortcuts.register({ ...shortcut, group: m.title }),
  );
  return () => removers.forEach((remove) => remove());
}
