import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { apiRequest } from '../../api/client';
import { isAbortError, toProblem } from '../../api/errors';
import { ListQuery, Query } from '../../api/query.svelte';
import type { Problem } from '../../api/schemas';
import type { Context, DashboardApi } from '../../plugin/context';
import type { SpriteSheet } from './canvas/point-scene';
import { LabelColumn } from './point-colors';
import type { ProjectorParams } from './projector-params';
import { encodeMask, type RowMask } from './row-mask';
import type {
  ColumnResponse,
  EmbeddingInfo,
  EmbeddingRow,
  EmbeddingsResponse,
  NeighborsResponse,
  PointResponse,
  SearchResponse,
  VersionRow,
} from './schemas';

/** An ask in a query; what is not given is left out. */
export function formatProjectorQuery(
  fields: Readonly<Record<string, string | number | null>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null) query.set(name, String(value));
  }
  return query.toString();
}

/** One version of an embedding, as every ask names it. */
export interface EmbeddingReference {
  readonly id: string;
  readonly index: number;
  readonly mark: string;
}

/** All embeddings that can be looked at, and which of them is. */
export class EmbeddingCatalog extends ListQuery<EmbeddingRow> {
  devices = $state.raw<readonly string[]>([]);
  readonly #context: Context;
  readonly #params: ProjectorParams;
  #lastId = '';

  constructor(context: Context, api: DashboardApi, params: ProjectorParams) {
    super(async (signal) => {
      const { embeddings, devices } = await api.get<EmbeddingsResponse>('embeddings', signal);
      this.devices = devices;
      return embeddings;
    });
    this.#context = context;
    this.#params = params;
  }

  /** The one that the address names, else that of before, else the first of a run that is shown. */
  readonly current = $derived.by<EmbeddingRow | undefined>(() => {
    const named = this.find(this.#params.embedding.value);
    if (named) return named;
    const held = this.find(this.#lastId);
    if (held?.problem === '') return held;
    const { runs } = this.#context;
    const good = this.rows.filter(({ problem }) => problem === '');
    const logged = good.filter(({ source }) => source === 'log');
    const shown = logged.find(({ run }) => runs.find(run) !== undefined);
    return shown ?? logged[0] ?? good[0] ?? this.rows[0];
  });

  readonly version = $derived.by(() => pickVersion(this.current, this.#params.version.value));

  readonly reference = $derived.by(() => createReference(this.current, this.version));
  /** The last version, which the layouts of others are turned onto. */
  readonly base = $derived.by(() => createReference(this.current, this.current?.versions.at(-1)));

  readonly other = $derived.by(() => this.find(this.#params.other.value));
  readonly otherVersion = $derived.by(() =>
    pickVersion(this.other, this.#params.otherVersion.value),
  );
  readonly otherReference = $derived.by(() => createReference(this.other, this.otherVersion));

  /** What is looked at stays, though what comes may be listed before it. */
  override async load(signal?: AbortSignal): Promise<void> {
    await super.load(signal);
    this.#lastId = this.current?.id ?? '';
  }

  /** Adds a file of the user's and looks at it. */
  async upload(file: File, of: '' | `&${string}` = ''): Promise<EmbeddingRow> {
    const path = `${this.#context.api.url('upload')}?name=${encodeURIComponent(file.name)}${of}`;
    const row = await apiRequest<EmbeddingRow>(path, { method: 'POST', body: file });
    this.rows = [...this.rows.filter(({ id }) => id !== row.id), row];
    return row;
  }
}

function pickVersion(row: EmbeddingRow | undefined, index: number | null): VersionRow | undefined {
  return row?.versions.find((version) => version.index === index) ?? row?.versions.at(-1);
}

function createReference(
  row: EmbeddingRow | undefined,
  version: VersionRow | undefined,
): EmbeddingReference | null {
  return row && version && row.problem === ''
    ? { id: row.id, index: version.index, mark: version.mark }
    : null;
}

/** Columns of labels that somebody looked at, of one embedding. */
export class LabelColumnCache {
  error = $state.raw<Problem | null>(null);
  readonly #api: DashboardApi;
  readonly #columns = new SvelteMap<string, LabelColumn | null>();
  #reference = $state.raw<(EmbeddingReference & { readonly revision: number }) | null>(null);

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /** From now on columns are those of another embedding, or of one that was edited. */
  reset(of: (EmbeddingReference & { readonly revision: number }) | null): void {
    this.#reference = of;
    this.error = null;
    this.#columns.clear();
  }

  /** Undefined while it is on its way; asking for it sends for it. */
  find(name: string | null): LabelColumn | undefined {
    if (name === null || !this.#reference) return undefined;
    const known = this.#columns.get(name);
    if (known === undefined) untrack(() => void this.#load(name));
    return known ?? undefined;
  }

  async #load(name: string): Promise<void> {
    const of = this.#reference;
    if (!of) return;
    // Not within who asks, who may be in the middle of being derived.
    await Promise.resolve();
    if (this.#reference !== of || this.#columns.has(name)) return;
    this.#columns.set(name, null);
    try {
      const path = `column?${formatProjectorQuery({ ...of, name })}`;
      const answer = await this.#api.get<ColumnResponse>(path);
      if (this.#reference === of) this.#columns.set(name, new LabelColumn(answer));
    } catch (error) {
      if (!isAbortError(error) && this.#reference === of) this.error = toProblem(error);
    }
  }
}

/** While somebody types, so long is waited for the next letter. */
const SEARCH_DEBOUNCE_MS = 120;

/** What was looked for in the labels, and which points are near the one that is looked at. */
export class PointQueries {
  readonly search = new Query<SearchResponse>();
  readonly neighbors = new Query<NeighborsResponse>();
  readonly point = new Query<PointResponse>();
  readonly #api: DashboardApi;
  readonly #params: ProjectorParams;
  readonly #catalog: EmbeddingCatalog;

  constructor(api: DashboardApi, params: ProjectorParams, catalog: EmbeddingCatalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  /** To be called where effects live. */
  startEffects(ways: {
    spherizes: () => boolean;
    only: () => RowMask | null;
    revision: () => number;
  }): void {
    $effect(() => {
      ways.revision();
      const { reference } = this.#catalog;
      const query = this.#params.query.value.trim();
      const [regex, column] = [this.#params.regex.value, this.#params.column.value];
      if (query === '' || !reference) return untrack(() => this.search.run(null));
      const body = { ...reference, query, regex, column };
      const timer = setTimeout(
        () => this.search.run((signal) => this.#api.post('search', body, signal), true),
        SEARCH_DEBOUNCE_MS,
      );
      return () => clearTimeout(timer);
    });
    $effect(() => {
      const { reference } = this.#catalog;
      const row = this.#params.point.value;
      const [metric, count] = [this.#params.neighborMetric.value, this.#params.neighborCount.value];
      const [spherize, within] = [ways.spherizes(), encodeMask(ways.only())];
      const body = { ...reference, row, metric, count, spherize, within };
      const asked = reference && row !== null;
      untrack(() =>
        this.neighbors.run(
          asked ? (signal) => this.#api.post('neighbours', body, signal) : null,
          true,
        ),
      );
    });
    $effect(() => {
      ways.revision();
      const { reference } = this.#catalog;
      const row = this.#params.point.value;
      const path =
        reference && row !== null ? `point?${formatProjectorQuery({ ...reference, row })}` : null;
      untrack(() =>
        this.point.run(path === null ? null : (signal) => this.#api.get(path, signal), true),
      );
    });
    $effect(
      () => () => [this.search, this.neighbors, this.point].forEach((asking) => asking.stop()),
    );
  }
}

/** The pictures of points, sheet by sheet. */
export class SpriteSheetLoader {
  /** Those that are there; points whose sheet is not are discs. */
  loaded = $state.raw<readonly SpriteSheet[]>([]);
  error = $state.raw<Problem | null>(null);
  readonly #api: DashboardApi;
  #abortController = new AbortController();

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /** Null where pictures are not wanted. */
  load(about: EmbeddingInfo | null): void {
    this.stop();
    untrack(() => {
      if (this.loaded.length > 0) this.loaded = [];
      this.error = null;
    });
    if (about?.sprite) void this.#loadTiles(about, this.#abortController.signal);
  }

  stop(): void {
    this.#abortController.abort();
    this.#abortController = new AbortController();
  }

  async #loadTiles(about: EmbeddingInfo, signal: AbortSignal): Promise<void> {
    for (let tile = 0; tile < (about.sprite?.tiles ?? 0); tile++) {
      try {
        const sheet = await this.#loadTile(about, tile);
        if (signal.aborted) return;
        if (sheet) this.loaded = [...this.loaded, sheet];
      } catch (error) {
        if (!isAbortError(error) && !signal.aborted) this.error = toProblem(error);
        return;
      }
    }
  }

  async #loadTile(
    { id, index, mark, rows, sprite }: EmbeddingInfo,
    tile: number,
  ): Promise<SpriteSheet | null> {
    if (!sprite) return null;
    const image = new Image();
    image.src = await this.#api.fileUrl(
      `sprite?${formatProjectorQuery({ id, index, mark, tile })}`,
    );
    await image.decode();
    const first = tile * sprite.per_tile;
    return {
      ...{ image, first, count: Math.min(sprite.per_tile, rows - first) },
      ...{ columns: sprite.tile_columns },
      ...{ cellWidth: sprite.cell_width, cellHeight: sprite.cell_height },
    };
  }
}
