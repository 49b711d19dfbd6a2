import { createContext, untrack } from 'svelte';

import { Query } from '../../api/query.svelte';
import type { Context, DashboardApi, Shortcut } from '../../plugin/context';
import { Bookmarks } from './bookmarks.svelte';
import { PointAppearance } from './point-appearance.svelte';
import { PointSelection } from './point-selection.svelte';
import { ProjectorCamera } from './projector-camera.svelte';
import { ClusterJob } from './projector-jobs.svelte';
import { PositionTransition, ProjectorLayouts } from './projector-layouts.svelte';
import {
  buildProjectionRequest,
  createProjectorParams,
  type DragTool,
  outputDimensions,
  type ProjectorParams,
} from './projector-params';
import {
  EmbeddingCatalog,
  formatProjectorQuery,
  LabelColumnCache,
  PointQueries,
  SpriteSheetLoader,
} from './query.svelte';
import type { EmbeddingInfo } from './schemas';
import { StaticProjectorApi } from './static-projector-api';

/** How close one gets to a point that is gone to. */
const FOCUS_ZOOM = 3;

/** All that the parts of the view share. */
export class ProjectorState {
  readonly context: Context;
  readonly api: DashboardApi;
  readonly params: ProjectorParams;
  readonly catalog: EmbeddingCatalog;
  readonly info = new Query<EmbeddingInfo>();
  readonly #otherInfo = new Query<EmbeddingInfo>();
  readonly columns: LabelColumnCache;
  readonly selection: PointSelection;
  readonly layouts: ProjectorLayouts;
  readonly transition = new PositionTransition();
  readonly camera: ProjectorCamera;
  readonly pointQueries: PointQueries;
  readonly clusters: ClusterJob;
  readonly appearance: PointAppearance;
  readonly sprites: SpriteSheetLoader;
  readonly bookmarks: Bookmarks;
  /** What a drag does. */
  tool = $state<DragTool>('move');
  /** The point under the pointer, or under that of a list. */
  hoveredRow = $state<number | null>(null);
  /** Labels were edited here since the embedding was opened. */
  #labelRevision = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.api = context.isStatic ? new StaticProjectorApi(context.api) : context.api;
    this.params = createProjectorParams(context);
    this.catalog = new EmbeddingCatalog(context, this.api, this.params);
    this.columns = new LabelColumnCache(this.api);
    this.selection = new PointSelection(this.params);
    this.pointQueries = new PointQueries(this.api, this.params, this.catalog);
    this.clusters = new ClusterJob(this.api);
    this.sprites = new SpriteSheetLoader(this.api);
    this.camera = new ProjectorCamera(this.params, () => outputDimensions(this.params) === 2);
    this.layouts = new ProjectorLayouts(
      this.api,
      this.params,
      this.catalog,
      () =>
        this.info.data
          ? buildProjectionRequest(this.params, this.isSpherized, this.selection.isolated)
          : null,
      () => this.selection.isolatedCount ?? this.info.data?.rows ?? 0,
    );
    const about = (): EmbeddingInfo | null => this.info.data;
    this.appearance = new PointAppearance(
      this.params,
      this.columns,
      this.selection,
      this.pointQueries,
      this.clusters,
      about,
    );
    this.bookmarks = new Bookmarks(this);
  }

  /** Whether vectors are moved to their middle and made one long before all else. */
  readonly isSpherized = $derived.by(() => {
    const wish = this.params.spherize.value;
    return wish === 'auto' ? (this.info.data?.spherize ?? false) : wish === 'on';
  });

  readonly drawsSprites = $derived.by(() => {
    const { pointStyle } = this.params;
    return (
      pointStyle.value === 'pictures' || (pointStyle.value === 'auto' && !!this.info.data?.sprite)
    );
  });

  /** Columns by which the points of two embeddings can be told to be the same. */
  readonly sharedColumns = $derived.by<readonly string[]>(() => {
    const theirs = this.#otherInfo.data?.columns.map(({ name }) => name) ?? [];
    const mine = this.info.data?.columns ?? [];
    return mine.flatMap(({ name }) => (theirs.includes(name) ? name : []));
  });

  /** In pixels of the page. */
  readonly pointSize = $derived.by(() => {
    const { pointSize, pointStyle } = this.params;
    if (pointSize.value !== null) return Math.min(200, Math.max(1, pointSize.value));
    if (pointStyle.value === 'labels') return 3;
    const { width, height } = this.camera;
    const each = (0.09 * width * height) / Math.max(1, this.layouts.rowTotal);
    return this.sprites.loaded.length > 0
      ? Math.max(14, Math.min(48, 2 * Math.sqrt(each)))
      : Math.max(1.5, Math.min(7, Math.sqrt(each)));
  });

  /** Keeps what is loaded and drawn in step with the address; to be called where effects live. */
  startEffects(): void {
    $effect(() => {
      this.context.live.getRevision(null);
      void untrack(() => this.catalog.load());
    });
    this.#startEmbeddingEffects();
    this.layouts.startEffects();
    this.selection.startEffects();
    this.pointQueries.startEffects({
      spherizes: () => this.isSpherized,
      only: () => this.selection.isolated,
      revision: () => this.#labelRevision,
    });
    $effect(() => {
      const { displayed, main } = this.layouts;
      const [way, isPreview] = [this.params.comparisonProgress.value, main.isRunning];
      untrack(() => this.transition.moveTo(displayed, way, isPreview));
    });
    $effect(() => {
      const about = this.drawsSprites ? this.info.data : null;
      untrack(() => this.sprites.load(about));
    });
    $effect(() => () => this.#stop());
  }

  /** Looks at another embedding from its beginning, with nothing chosen. */
  openEmbedding(id: string): void {
    const { embedding, other, version, point, query, orbit, hiddenValues } = this.params;
    embedding.set(id, 'push');
    if (other.value === id) other.set('');
    for (const param of [version, point, orbit]) param.set(null);
    query.set('');
    hiddenValues.set([]);
  }

  /** Lets points go to where they are in other vectors; with none, they stay. */
  compareWith(id: string): void {
    this.params.other.set(id, 'push');
    // Of the same vectors it is another step that can be compared.
    const isSame = id === this.catalog.current?.id;
    this.params.otherVersion.set(
      isSame ? (this.catalog.current?.versions[0]?.index ?? null) : null,
    );
    this.params.otherBy.set('');
    this.params.comparisonProgress.set(0);
  }

  /** Looks at a point and its neighbours; null lets go of it. */
  inspect(row: number | null): void {
    this.params.point.set(row);
  }

  /** Brings a point into the middle. */
  focusPoint(row: number): void {
    const places = this.transition.positions;
    if (!places) return;
    const [x = NaN, y = NaN, z = NaN] = places.current.subarray(3 * row, 3 * row + 3);
    if (!Number.isNaN(x)) this.camera.focus([x, y, z], FOCUS_ZOOM);
  }

  /** Labels are not what they were. */
  reloadLabels(): void {
    this.#labelRevision += 1;
    this.info.retry();
  }

  /** Step by step: first the point, then what was found, then what was chosen, then the tool. */
  clearSelection(): void {
    const { point, query } = this.params;
    if (point.value !== null) point.set(null);
    else if (query.value !== '') query.set('');
    else if (this.selection.selectedCount > 0) this.selection.clear();
    else this.tool = 'move';
  }

  #startEmbeddingEffects(): void {
    $effect(() => {
      const { reference } = this.catalog;
      untrack(() => this.#loadInfo(this.info, reference));
    });
    $effect(() => {
      const { otherReference } = this.catalog;
      untrack(() => this.#loadInfo(this.#otherInfo, otherReference));
    });
    $effect(() => {
      this.layouts.otherRowTotal = this.#otherInfo.data?.rows ?? 0;
    });
    $effect(() => {
      const about = this.info.data;
      untrack(() => this.#applyInfo(about));
    });
  }

  #loadInfo(asking: Query<EmbeddingInfo>, reference: EmbeddingCatalog['reference']): void {
    const path = reference && `about?${formatProjectorQuery({ ...reference })}`;
    asking.run(path === null ? null : (signal) => this.api.get(path, signal));
  }

  #applyInfo(about: EmbeddingInfo | null): void {
    if (!about) return;
    const { id, index, mark, revision, rows } = about;
    this.columns.reset({ id, index, mark, revision });
    if (rows !== this.layouts.rowTotal) this.clusters.reset();
    this.layouts.rowTotal = rows;
    this.selection.reset(rows);
    this.bookmarks.load();
  }

  #stop(): void {
    this.transition.stop();
    this.camera.stop();
    this.sprites.stop();
    this.clusters.stop();
    for (const asking of [this.info, this.#otherInfo]) asking.stop();
  }
}

export const [getProjectorState, setProjectorState] = createContext<ProjectorState>();

/** The keys of the view; returns how to take them back. */
export function registerProjectorShortcuts(
  projector: ProjectorState,
  focusSearch: () => void,
): () => void {
  const { camera, selection, params, appearance } = projector;
  const take = (tool: DragTool) => (): void => {
    projector.tool = projector.tool === tool ? 'move' : tool;
  };
  const flip = (): void => params.dimensions.set(outputDimensions(params) === 2 ? '3' : '2');
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'f', label: 'Find points', run: focusSearch },
    { keys: 'z', label: 'See all points', run: () => camera.fit() },
    { keys: 'd', label: 'In the plane or in space', run: flip },
    { keys: 'b', label: 'Choose points in a box', run: take('box') },
    { keys: 'l', label: 'Choose points with a lasso', run: take('lasso') },
    { keys: 'i', label: 'Look at the chosen points alone', run: () => selection.isolate() },
    { keys: 'h', label: 'Hide the chosen points', run: () => selection.hide() },
    { keys: 'v', label: 'Choose the others', run: () => selection.invert(appearance.visible) },
    { keys: 'a', label: 'Show all points', run: () => selection.showAll() },
    { keys: 'Escape', label: 'Let go of what is chosen', run: () => projector.clearSelection() },
  ];
  const stops = shortcuts.map((shortcut) =>
    projector.context.shortcuts.register({ ...shortcut, group: 'Projector' }),
  );
  return () => stops.forEach((stop) => stop());
}
