import { createContext, untrack } from 'svelte';

import { Asking } from '../../api/asking.svelte';
import type { Api, Context } from '../../plugin/context';
import type { AboutAnswer } from './data/answers';
import { CopyApi } from './data/copy';
import { Bookmarks } from './state/bookmarks.svelte';
import { Camera } from './state/camera.svelte';
import { Catalog } from './state/catalog.svelte';
import { queryOf } from './state/query';
import { Choice } from './state/choice.svelte';
import { Clusters } from './state/clusters.svelte';
import { LabelColumns } from './state/columns.svelte';
import { Layouts } from './state/layouts.svelte';
import { Look } from './state/look.svelte';
import { askOf, dimensionsOf } from './state/method';
import { Motion } from './state/motion.svelte';
import { Neighbourhood } from './state/neighbourhood.svelte';
import { openParams, type Params, type Tool } from './state/params';
import { Sheets } from './state/sheets.svelte';

/** How close one gets to a point that is gone to. */
const CLOSE = 3;

/** All that the parts of the view share. */
export class Projector {
  readonly context: Context;
  readonly api: Api;
  readonly params: Params;
  readonly catalog: Catalog;
  readonly about = new Asking<AboutAnswer>();
  readonly #otherAbout = new Asking<AboutAnswer>();
  readonly columns: LabelColumns;
  readonly choice: Choice;
  readonly layouts: Layouts;
  readonly motion = new Motion();
  readonly camera: Camera;
  readonly near: Neighbourhood;
  readonly clusters: Clusters;
  readonly look: Look;
  readonly sheets: Sheets;
  readonly bookmarks: Bookmarks;
  /** What a drag does. */
  tool = $state<Tool>('move');
  /** The point under the pointer, or under that of a list. */
  pointed = $state<number | null>(null);
  /** Labels were edited here since the embedding was opened. */
  #edits = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.api = context.isStatic ? new CopyApi(context.api) : context.api;
    this.params = openParams(context);
    this.catalog = new Catalog(context, this.api, this.params);
    this.columns = new LabelColumns(this.api);
    this.choice = new Choice(this.params);
    this.near = new Neighbourhood(this.api, this.params, this.catalog);
    this.clusters = new Clusters(this.api);
    this.sheets = new Sheets(this.api);
    this.camera = new Camera(this.params, () => dimensionsOf(this.params) === 2);
    this.layouts = new Layouts(
      this.api,
      this.params,
      this.catalog,
      () => (this.about.answer ? askOf(this.params, this.spherizes, this.choice.only) : null),
      () => this.choice.onlyCount ?? this.about.answer?.rows ?? 0,
    );
    const about = (): AboutAnswer | null => this.about.answer;
    this.look = new Look(this.params, this.columns, this.choice, this.near, this.clusters, about);
    this.bookmarks = new Bookmarks(this);
  }

  /** Whether vectors are moved to their middle and made one long before all else. */
  readonly spherizes = $derived.by(() => {
    const wish = this.params.spherize.value;
    return wish === 'auto' ? (this.about.answer?.spherize ?? false) : wish === 'on';
  });

  readonly drawsPictures = $derived.by(() => {
    const { draw } = this.params;
    return draw.value === 'pictures' || (draw.value === 'auto' && !!this.about.answer?.sprite);
  });

  /** Columns by which the points of two embeddings can be told to be the same. */
  readonly sharedColumns = $derived.by<readonly string[]>(() => {
    const theirs = this.#otherAbout.answer?.columns.map(({ name }) => name) ?? [];
    const mine = this.about.answer?.columns ?? [];
    return mine.flatMap(({ name }) => (theirs.includes(name) ? name : []));
  });

  /** In pixels of the page. */
  readonly pointSize = $derived.by(() => {
    const { pointSize, draw } = this.params;
    if (pointSize.value !== null) return Math.min(200, Math.max(1, pointSize.value));
    if (draw.value === 'labels') return 3;
    const { width, height } = this.camera;
    const each = (0.09 * width * height) / Math.max(1, this.layouts.total);
    return this.sheets.loaded.length > 0
      ? Math.max(14, Math.min(48, 2 * Math.sqrt(each)))
      : Math.max(1.5, Math.min(7, Math.sqrt(each)));
  });

  /** Keeps what is loaded and drawn in step with the address; to be called where effects live. */
  follow(): void {
    $effect(() => {
      this.context.live.revisionOf(null);
      void untrack(() => this.catalog.load());
    });
    this.#followEmbedding();
    this.layouts.follow();
    this.choice.follow();
    this.near.follow({
      spherizes: () => this.spherizes,
      only: () => this.choice.only,
      revision: () => this.#edits,
    });
    $effect(() => {
      const { shown, main } = this.layouts;
      const [way, isPreview] = [this.params.way.value, main.isBusy];
      untrack(() => this.motion.show(shown, way, isPreview));
    });
    $effect(() => {
      const about = this.drawsPictures ? this.about.answer : null;
      untrack(() => this.sheets.show(about));
    });
    $effect(() => () => this.#stop());
  }

  /** Looks at another embedding from its beginning, with nothing chosen. */
  open(id: string): void {
    const { embedding, other, version, point, query, orbit, off } = this.params;
    embedding.set(id, 'push');
    if (other.value === id) other.set('');
    for (const param of [version, point, orbit]) param.set(null);
    query.set('');
    off.set([]);
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
    this.params.way.set(0);
  }

  /** Looks at a point and its neighbours; null lets go of it. */
  choose(row: number | null): void {
    this.params.point.set(row);
  }

  /** Brings a point into the middle. */
  goTo(row: number): void {
    const places = this.motion.places;
    if (!places) return;
    const [x = NaN, y = NaN, z = NaN] = places.now.subarray(3 * row, 3 * row + 3);
    if (!Number.isNaN(x)) this.camera.lookAt([x, y, z], CLOSE);
  }

  /** Labels are not what they were. */
  noteEdit(): void {
    this.#edits += 1;
    this.about.again();
  }

  /** Step by step: first the point, then what was found, then what was chosen, then the tool. */
  letGo(): void {
    const { point, query } = this.params;
    if (point.value !== null) point.set(null);
    else if (query.value !== '') query.set('');
    else if (this.choice.count > 0) this.choice.clear();
    else this.tool = 'move';
  }

  #followEmbedding(): void {
    $effect(() => {
      const { reference } = this.catalog;
      untrack(() => this.#open(this.about, reference));
    });
    $effect(() => {
      const { otherReference } = this.catalog;
      untrack(() => this.#open(this.#otherAbout, otherReference));
    });
    $effect(() => {
      this.layouts.otherTotal = this.#otherAbout.answer?.rows ?? 0;
    });
    $effect(() => {
      const about = this.about.answer;
      untrack(() => this.#begin(about));
    });
  }

  #open(asking: Asking<AboutAnswer>, reference: Catalog['reference']): void {
    const path = reference && `about?${queryOf({ ...reference })}`;
    asking.ask(path === null ? null : (signal) => this.api.get(path, signal));
  }

  #begin(about: AboutAnswer | null): void {
    if (!about) return;
    const { id, index, mark, revision, rows } = about;
    this.columns.lookAt({ id, index, mark, revision });
    if (rows !== this.layouts.total) this.clusters.forget();
    this.layouts.total = rows;
    this.choice.begin(rows);
    this.bookmarks.load();
  }

  #stop(): void {
    this.motion.stop();
    this.camera.stop();
    this.sheets.stop();
    this.clusters.stop();
    for (const asking of [this.about, this.#otherAbout]) asking.stop();
  }
}

export const [getProjector, setProjector] = createContext<Projector>();
