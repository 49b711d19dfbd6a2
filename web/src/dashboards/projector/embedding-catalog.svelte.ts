import type { Query } from '../../api/create-query.svelte';
import type { EmbeddingRow, EmbeddingsResponse, Problem, VersionRow } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/projector';
import { groupOptions, type OptionGroup } from '../../components/options';
import { translate } from '../../i18n/messages';
import { formatCount } from '../../lib/format';
import type { Context } from '../../plugin/context';
import type { ProjectorParams } from './projector-params';
import { embeddingsQuery } from './query';

/** One version of an embedding, as requests name it. */
export interface EmbeddingReference {
  readonly id: string;
  readonly index: number;
  readonly mark: string;
}

/** Embeddings side by side, besides the current and the compared one. */
export const MAX_MORE_OTHERS = 4;

/** All embeddings of the log and uploaded ones, and which of them are shown. */
export class EmbeddingCatalog {
  readonly #context: Context;
  readonly #params: ProjectorParams;
  readonly #list: Query<EmbeddingsResponse>;
  /** The embedding that is shown if the URL names none. */
  #defaultId = '';

  /** Call it where effects can be created. */
  constructor(context: Context, params: ProjectorParams) {
    this.#context = context;
    this.#params = params;
    this.#list = context.query(embeddingsQuery, () => ({}));
    // New embeddings may be listed before the one that is shown, which stays.
    $effect(() => {
      const id = this.current?.id;
      if (this.#params.embedding.value === '' && id !== undefined) this.#defaultId = id;
    });
  }

  get rows(): readonly EmbeddingRow[] {
    return this.#list.data?.embeddings ?? [];
  }

  get isReady(): boolean {
    return this.#list.data !== undefined;
  }

  get error(): Problem | null {
    return this.#list.error?.problem ?? null;
  }

  load(): Promise<void> {
    this.#list.retry();
    return Promise.resolve();
  }

  /** The embedding in the URL, else the default of before, else the first of a visible run. */
  readonly current = $derived.by<EmbeddingRow | undefined>(() => {
    const named = this.#find(this.#params.embedding.value);
    const previous = this.#find(this.#defaultId);
    if (named ?? previous?.problem === null) return named ?? previous;
    const { runs } = this.#context;
    const readable = this.rows.filter(({ problem }) => problem === null);
    const logged = readable.filter(({ source }) => source === 'log');
    const visible = logged.find(({ run }) => runs.find(run) !== undefined);
    return visible ?? logged[0] ?? readable[0] ?? this.rows[0];
  });

  readonly version = $derived.by(() => pickVersion(this.current, this.#params.version.value));
  readonly reference = $derived.by(() => createReference(this.current, this.version));
  /** The last version, which the layouts of other versions are aligned with. */
  readonly base = $derived.by(() => createReference(this.current, this.current?.versions.at(-1)));

  readonly other = $derived.by(() => this.#find(this.#params.other.value));
  readonly otherVersion = $derived.by(() =>
    pickVersion(this.other, this.#params.otherVersion.value),
  );
  readonly otherReference = $derived.by(() => createReference(this.other, this.otherVersion));

  /** Further embeddings beside the compared one, each with its last version. */
  readonly moreOthers = $derived.by<readonly EmbeddingRow[]>(() => {
    if (!this.other) return [];
    const rows = this.#params.moreOthers.value.flatMap((id) => this.#find(id) ?? []);
    return rows.filter((row) => this.#isUnused(row)).slice(0, MAX_MORE_OTHERS);
  });

  /** Embeddings that can be added to those that are shown side by side. */
  readonly addable = $derived.by<readonly EmbeddingRow[]>(() => {
    if (this.moreOthers.length >= MAX_MORE_OTHERS) return [];
    return this.rows.filter((row) => this.#isUnused(row) && !this.moreOthers.includes(row));
  });

  /** The reference of one of the compared embeddings; null if there are fewer. */
  getComparedReference(slot: number): EmbeddingReference | null {
    if (slot === 0) return this.otherReference;
    const row = this.moreOthers[slot - 1];
    return createReference(row, row?.versions.at(-1));
  }

  /** The embedding in a slot of the comparison. */
  getCompared(slot: number): EmbeddingRow | undefined {
    return slot === 0 ? this.other : this.moreOthers[slot - 1];
  }

  #isUnused({ id, problem }: EmbeddingRow): boolean {
    return problem === null && id !== this.current?.id && id !== this.other?.id;
  }

  /** Embeddings that the current one can be compared with; its own versions count. */
  readonly comparable = $derived.by<readonly EmbeddingRow[]>(() =>
    this.rows.filter(
      ({ problem, versions, id }) =>
        problem === null && (id !== this.current?.id || versions.length > 1),
    ),
  );

  /** Add an uploaded file to the list. It may be the labels or the images of an earlier upload. */
  async upload(
    file: File,
    target: { readonly labels_of?: string; readonly sprite_of?: string } = {},
  ): Promise<EmbeddingRow> {
    const { queries } = this.#context;
    const row = await queries.mutate('POST projector/upload', {
      ...{ name: file.name, body: file },
      ...target,
    });
    const list = this.#list.data ?? { cursor: '', embeddings: [], devices: [] };
    const others = list.embeddings.filter(({ id }) => id !== row.id);
    queries.set(embeddingsQuery, {}, { ...list, embeddings: [...others, row] });
    return row;
  }

  getName({ source, run, name }: EmbeddingRow): string {
    const isOfRun = source === 'log' && run !== '' && run !== ROOT_RUN;
    return isOfRun ? m.runEmbedding({ run: this.#getRunLabel(run), name }) : name;
  }

  /** Embeddings as options, grouped by run. */
  listOptions(rows: readonly EmbeddingRow[], selected: EmbeddingRow | undefined): OptionGroup[] {
    return groupOptions(
      rows,
      ({ source, run }) => (source === 'upload' ? common.uploadedFiles : this.#getRunLabel(run)),
      (row) => ({
        key: row.id,
        label: this.getName(row),
        hint: formatShape(row),
        title: row.problem ? translate(row.problem) : row.file,
        selected: row.id === selected?.id,
      }),
    );
  }

  #getRunLabel(run: string): string {
    if (run === ROOT_RUN) return common.logDirectory;
    return this.#context.runs.find(run)?.label ?? run;
  }

  #find(id: string): EmbeddingRow | undefined {
    return id === '' ? undefined : this.rows.find((row) => row.id === id);
  }
}

/** The name of the log directory itself as a run. */
const ROOT_RUN = '.';

function pickVersion(row: EmbeddingRow | undefined, index: number | null): VersionRow | undefined {
  return row?.versions.find((version) => version.index === index) ?? row?.versions.at(-1);
}

function createReference(
  row: EmbeddingRow | undefined,
  version: VersionRow | undefined,
): EmbeddingReference | null {
  return row && version && row.problem === null
    ? { id: row.id, index: version.index, mark: version.mark }
    : null;
}

function formatShape({ problem, versions }: EmbeddingRow): string {
  const last = versions.at(-1);
  if (problem !== null) return common.unreadable;
  if (!last || last.rows === 0) return '';
  return m.shape({ rows: formatCount(last.rows), dimensions: String(last.dimensions) });
}
