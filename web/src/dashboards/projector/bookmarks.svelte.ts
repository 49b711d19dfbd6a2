import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import type { Orbit } from '../../charts/webgl/orbit-camera';
import { NO_AXES, PROJECTION_METHODS, type ProjectorParams } from './projector-params';
import type { ProjectorState } from './projector-state.svelte';
import { formatProjectorQuery } from './query.svelte';
import { decodeMask, encodeMask, type RowMask } from './row-mask';
import type { Bookmark, BookmarksResponse, CameraDef } from './schemas';

/** From so far away TensorBoard shows its cube of points as a whole. */
const TENSORBOARD_FIT_DISTANCE = Math.hypot(0.45, 0.9, 1.6);

/** How a view of TensorBoard is laid out, coloured and looked at, as far as there is that here. */
export function applyTensorBoardBookmark(bookmark: Bookmark, params: ProjectorParams): void {
  const method = PROJECTION_METHODS.find((name) => name === bookmark.selectedProjection);
  if (method) params.method.set(method);
  params.dimensions.set(bookmarkDimensions(bookmark));
  params.components.set(bookmark.pcaComponentDimensions.map(String));
  const { tSNEPerplexity, umapNeighbors, umapMinDist, cameraDef } = bookmark;
  if (tSNEPerplexity !== null) params.perplexity.set(tSNEPerplexity);
  if (umapNeighbors !== null) params.neighbors.set(umapNeighbors);
  if (umapMinDist !== null) params.minDist.set(umapMinDist);
  if (method === 'custom') applyCustomAxes(bookmark, params);
  params.hiddenValues.set([]);
  params.colorBy.set(bookmark.selectedColorOptionName);
  params.colorScale.set(bookmark.forceCategoricalColoring ? 'categories' : 'auto');
  if (bookmark.selectedLabelOption !== null) params.labelBy.set(bookmark.selectedLabelOption);
  params.orbit.set(cameraDef && toOrbit(cameraDef));
}

function bookmarkDimensions(bookmark: Bookmark): 'auto' | '2' | '3' {
  const { selectedProjection, tSNEis3d, umapIs3d, pcaComponentDimensions } = bookmark;
  const isDeep = {
    ...{ tsne: tSNEis3d, umap: umapIs3d, custom: false },
    pca: pcaComponentDimensions.length > 0 ? pcaComponentDimensions.length > 2 : null,
  }[selectedProjection];
  if (isDeep === null || isDeep === undefined) return 'auto';
  return isDeep ? '3' : '2';
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

/** The same direction, and as much of all points in sight. */
export function toOrbit({ orthographic, position, target, zoom }: CameraDef): Orbit {
  const [x, y, z] = [0, 1, 2].map((axis) => (position[axis] ?? 0) - (target[axis] ?? 0)) as [
    number,
    number,
    number,
  ];
  const distance = Math.hypot(x, y, z) || TENSORBOARD_FIT_DISTANCE;
  return {
    yaw: Math.atan2(x, z),
    pitch: Math.asin(Math.max(-1, Math.min(1, y / distance))),
    zoom: zoom * (orthographic ? 1 : TENSORBOARD_FIT_DISTANCE / distance),
    target,
  };
}

/** A view that can be looked at again. */
export interface BookmarkItem {
  readonly name: string;
  /** Those of others cannot be taken away. */
  readonly isOwn: boolean;
  restore(): void;
}

/** What is kept: every setting, and which points are chosen, alone and hidden. */
interface SavedViewState {
  readonly settings: Partial<Record<keyof ProjectorParams, unknown>>;
  readonly rows: number;
  readonly selected: string | null;
  readonly only: string | null;
  readonly hidden: string | null;
}

/** Not part of a view: which embedding it is of, and what the address has of its rows. */
const EXCLUDED_PARAMS = ['embedding', 'panel', 'selectedRows', 'isolatedRows', 'hiddenRows'];

/** Views of the embedding that somebody kept, here or with TensorBoard. */
export class Bookmarks {
  error = $state.raw<Problem | null>(null);
  readonly #projector: ProjectorState;
  #response = $state.raw<BookmarksResponse | null>(null);

  constructor(projector: ProjectorState) {
    this.#projector = projector;
  }

  readonly items = $derived.by<readonly BookmarkItem[]>(() => [
    ...(this.#response?.saved ?? []).map(({ name, state }) => ({
      ...{ name, isOwn: true },
      restore: () => this.#restoreView(JSON.parse(state) as SavedViewState),
    })),
    ...(this.#response?.bookmarks ?? []).map((bookmark) => ({
      ...{ name: bookmark.label || 'A view of TensorBoard', isOwn: false },
      restore: () => this.#restoreTensorBoardView(bookmark),
    })),
  ]);

  async load(): Promise<void> {
    const { catalog, api, context } = this.#projector;
    if (!catalog.reference || context.isStatic) return;
    try {
      this.#response = await api.get(`bookmarks?${formatProjectorQuery({ ...catalog.reference })}`);
      this.error = null;
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
  }

  save(name: string): Promise<void> {
    return this.#send(name, JSON.stringify(this.#captureView()));
  }

  remove(name: string): Promise<void> {
    return this.#send(name, null);
  }

  async #send(name: string, state: string | null): Promise<void> {
    const { catalog, api } = this.#projector;
    try {
      await api.post('bookmark', { id: catalog.reference?.id, name, state });
      await this.load();
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
  }

  #captureView(): SavedViewState {
    const { params, selection, layouts } = this.#projector;
    const settings = Object.fromEntries(
      Object.entries(params)
        .filter(([name]) => !EXCLUDED_PARAMS.includes(name))
        .map(([name, param]) => [name, param.value]),
    );
    const [selected, only, hidden] = [selection.selected, selection.isolated, selection.hidden].map(
      encodeMask,
    );
    return {
      ...{ settings, rows: layouts.rowTotal },
      ...{ selected: selected ?? null, only: only ?? null, hidden: hidden ?? null },
    };
  }

  #restoreView(kept: SavedViewState): void {
    const { params, selection } = this.#projector;
    const wanted = kept.settings as Record<string, unknown>;
    for (const [name, param] of Object.entries(params)) {
      if (name in wanted && !EXCLUDED_PARAMS.includes(name)) param.set(wanted[name] as never);
    }
    const read = (text: string | null): RowMask | null =>
      text === null ? null : decodeMask(text, kept.rows);
    selection.selected = read(kept.selected);
    selection.isolated = read(kept.only);
    selection.hidden = read(kept.hidden);
  }

  /** As much of a view of TensorBoard as there is here, too. */
  #restoreTensorBoardView(bookmark: Bookmark): void {
    const { params, selection } = this.#projector;
    applyTensorBoardBookmark(bookmark, params);
    selection.showAll();
    if (bookmark.filteredPoints) {
      selection.select(bookmark.filteredPoints);
      selection.isolate();
    }
    selection.select(bookmark.selectedPoints);
  }
}
