import type { Query } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import type { Bookmark, BookmarksResponse, CameraDef, Problem, Sentence } from '../../api/schemas';
import * as m from '../../catalog/projector';
import type { Orbit } from '../../charts/webgl/orbit-camera';
import type { Context } from '../../plugin/context';
import type { EmbeddingReference } from './embedding-catalog.svelte';
import type { PointSelection } from './point-selection.svelte';
import {
  NO_AXES,
  PARAM_NAMES,
  PROJECTION_METHODS,
  type ProjectorParamName,
  type ProjectorParams,
} from './projector-params';
import { bookmarksQuery } from './query';
import { decodeMask, encodeMask, type RowMask } from './row-mask';

/** A view that can be restored. */
export interface BookmarkItem {
  readonly name: string;
  /** Bookmarks of TensorBoard cannot be deleted. */
  readonly isOwn: boolean;
  restore(): void;
}

/** A saved view: settings by the names of `PARAM_NAMES`, and masks of rows. */
interface SavedViewState {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly rows: number;
  readonly selected: string | null;
  readonly only: string | null;
  readonly hidden: string | null;
}

/** Rows are saved as masks. The embedding is the same. */
const EXCLUDED_PARAMS: readonly ProjectorParamName[] = [
  'embedding',
  'selectedRows',
  'isolatedRows',
  'hiddenRows',
];

/** Views of the embedding that were saved here or by TensorBoard. */
export class Bookmarks {
  readonly #context: Context;
  readonly #params: ProjectorParams;
  readonly #selection: PointSelection;
  readonly #getReference: () => EmbeddingReference | null;
  readonly #list: Query<BookmarksResponse>;
  #saveError = $state.raw<Problem | null>(null);

  /** Call it where effects can be created. */
  constructor(
    context: Context,
    params: ProjectorParams,
    selection: PointSelection,
    getReference: () => EmbeddingReference | null,
  ) {
    this.#context = context;
    this.#params = params;
    this.#selection = selection;
    this.#getReference = getReference;
    const isSupported = context.supports('GET projector/bookmarks');
    this.#list = context.query(bookmarksQuery, () => (isSupported ? getReference() : null));
  }

  get error(): Problem | null {
    return this.#saveError ?? this.#list.error?.problem ?? null;
  }

  /** What is wrong with bookmarks of TensorBoard that are left out. */
  get notes(): readonly Sentence[] {
    return this.#list.data?.notes ?? [];
  }

  readonly items = $derived.by<readonly BookmarkItem[]>(() => [
    ...(this.#list.data?.saved ?? []).map(({ name, state }) => ({
      name,
      isOwn: true,
      restore: () => this.#restoreView(JSON.parse(state) as SavedViewState),
    })),
    ...(this.#list.data?.bookmarks ?? []).map((bookmark) => ({
      name: bookmark.label || m.bookmarksTensorboard,
      isOwn: false,
      restore: () => this.#restoreTensorBoardView(bookmark),
    })),
  ]);

  save(name: string): Promise<void> {
    return this.#send(name, JSON.stringify(this.#captureView()));
  }

  delete(name: string): Promise<void> {
    return this.#send(name, null);
  }

  async #send(name: string, state: string | null): Promise<void> {
    const id = this.#getReference()?.id;
    if (id === undefined) return;
    const { queries } = this.#context;
    this.#saveError = null;
    try {
      await queries.mutate('POST projector/bookmark', { id, name, state });
      queries.invalidate(bookmarksQuery);
    } catch (error) {
      this.#saveError = toProblem(error);
    }
  }

  #captureView(): SavedViewState {
    const { selected, isolated, hidden } = this.#selection;
    return {
      settings: makeCaptureSettings(this.#params),
      rows: (selected ?? isolated ?? hidden)?.length ?? 0,
      selected: encodeMask(selected),
      only: encodeMask(isolated),
      hidden: encodeMask(hidden),
    };
  }

  #restoreView({ settings, rows, selected, only, hidden }: SavedViewState): void {
    restoreSettings(settings, this.#params);
    const decode = (text: string | null): RowMask | null =>
      text === null ? null : decodeMask(text, rows);
    this.#selection.restore({
      selected: decode(selected),
      isolated: decode(only),
      hidden: decode(hidden),
    });
  }

  #restoreTensorBoardView(bookmark: Bookmark): void {
    applyTensorBoardBookmark(bookmark, this.#params);
    const { selectedPoints, filteredPoints } = bookmark;
    this.#selection.restore({
      selected: this.#selection.toMask(selectedPoints),
      isolated: filteredPoints && this.#selection.toMask(filteredPoints),
      hidden: null,
    });
  }
}

/** Return all settings of a view by their names in the URL. */
export function makeCaptureSettings(params: ProjectorParams): Record<string, unknown> {
  const names = Object.keys(PARAM_NAMES) as ProjectorParamName[];
  const included = names.filter((name) => !EXCLUDED_PARAMS.includes(name));
  return Object.fromEntries(included.map((name) => [PARAM_NAMES[name], params[name].value]));
}

/** Apply saved settings, as one entry of the browser's history. Others keep their values. */
export function restoreSettings(
  settings: Readonly<Record<string, unknown>>,
  params: ProjectorParams,
): void {
  const names = Object.keys(PARAM_NAMES) as ProjectorParamName[];
  for (const [key, value] of Object.entries(settings)) {
    const name = names.find((name) => PARAM_NAMES[name] === key);
    if (name && !EXCLUDED_PARAMS.includes(name)) params[name].set(value as never, 'push');
  }
}

/** Apply the settings of a TensorBoard bookmark that exist here. */
export function applyTensorBoardBookmark(bookmark: Bookmark, params: ProjectorParams): void {
  const method = PROJECTION_METHODS.find((name) => name === bookmark.selectedProjection);
  if (method) params.method.set(method, 'push');
  params.dimensions.set(getBookmarkDimensions(bookmark), 'push');
  params.components.set(bookmark.pcaComponentDimensions.map(String));
  const { tSNEPerplexity, umapNeighbors, umapMinDist, cameraDef } = bookmark;
  // TensorBoard writes 0 for a projection that was not computed.
  if (tSNEPerplexity) params.perplexity.set(tSNEPerplexity);
  if (umapNeighbors) params.neighbors.set(umapNeighbors);
  if (umapMinDist !== null) params.minDist.set(umapMinDist);
  if (method === 'custom') applyCustomAxes(bookmark, params);
  params.hiddenValues.set([]);
  params.colorBy.set(bookmark.selectedColorOptionName);
  params.colorScale.set(bookmark.forceCategoricalColoring ? 'categories' : 'auto');
  if (bookmark.selectedLabelOption !== null) params.labelBy.set(bookmark.selectedLabelOption);
  params.orbit.set(cameraDef && toOrbit(cameraDef));
}

function getBookmarkDimensions(bookmark: Bookmark): 'auto' | '2' | '3' {
  const { selectedProjection, tSNEis3d, umapIs3d, pcaComponentDimensions } = bookmark;
  const is3dByMethod: Readonly<Record<string, boolean | null>> = {
    pca: pcaComponentDimensions.length > 0 ? pcaComponentDimensions.length > 2 : null,
    tsne: tSNEis3d,
    umap: umapIs3d,
    custom: false,
  };
  const is3d = is3dByMethod[selectedProjection] ?? null;
  if (is3d === null) return 'auto';
  return is3d ? '3' : '2';
}

function applyCustomAxes(bookmark: Bookmark, params: ProjectorParams): void {
  const { customXLeftText, customXRightText, customYDownText, customYUpText } = bookmark;
  params.axes.set([
    { from: customXLeftText ?? '', to: customXRightText ?? '' },
    { from: customYDownText ?? '', to: customYUpText ?? '' },
    ...NO_AXES.slice(2),
  ]);
  params.axesRegex.set(bookmark.customXLeftRegex ?? false);
  params.axesColumn.set(bookmark.customSelectedSearchByMetadataOption);
}

/** The distance from which TensorBoard shows all points, which fill a cube from -1 to 1. */
const TENSORBOARD_FIT_DISTANCE = Math.hypot(0.45, 0.9, 1.6);

/** Return a camera with the same direction that shows the same part of the points. */
export function toOrbit({ orthographic, position, target, zoom }: CameraDef): Orbit {
  const [x, y, z] = [position[0] - target[0], position[1] - target[1], position[2] - target[2]];
  const distance = Math.hypot(x, y, z) || TENSORBOARD_FIT_DISTANCE;
  return {
    yaw: Math.atan2(x, z),
    pitch: Math.asin(Math.max(-1, Math.min(1, y / distance))),
    zoom: zoom * (orthographic ? 1 : TENSORBOARD_FIT_DISTANCE / distance),
    target,
  };
}
