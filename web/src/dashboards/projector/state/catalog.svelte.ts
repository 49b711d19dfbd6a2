import { ask } from '../../../api/client';
import { Listing } from '../../../api/listing.svelte';
import type { Api, Context } from '../../../plugin/context';
import type { EmbeddingRow, EmbeddingsAnswer, VersionRow } from '../data/answers';
import type { Params } from './params';

/** One version of an embedding, as every ask names it. */
export interface Reference {
  readonly id: string;
  readonly index: number;
  readonly mark: string;
}

/** All embeddings that can be looked at, and which of them is. */
export class Catalog extends Listing<EmbeddingRow> {
  devices = $state.raw<readonly string[]>([]);
  readonly #context: Context;
  readonly #params: Params;
  #held = '';

  constructor(context: Context, api: Api, params: Params) {
    super(async (signal) => {
      const { embeddings, devices } = await api.get<EmbeddingsAnswer>('embeddings', signal);
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
    const held = this.find(this.#held);
    if (held?.problem === '') return held;
    const { runs } = this.#context;
    const good = this.rows.filter(({ problem }) => problem === '');
    const logged = good.filter(({ source }) => source === 'log');
    const shown = logged.find(({ run }) => runs.find(run) !== undefined);
    return shown ?? logged[0] ?? good[0] ?? this.rows[0];
  });

  readonly version = $derived.by(() => pickVersion(this.current, this.#params.version.value));

  readonly reference = $derived.by(() => referenceOf(this.current, this.version));
  /** The last version, which the layouts of others are turned onto. */
  readonly base = $derived.by(() => referenceOf(this.current, this.current?.versions.at(-1)));

  readonly other = $derived.by(() => this.find(this.#params.other.value));
  readonly otherVersion = $derived.by(() =>
    pickVersion(this.other, this.#params.otherVersion.value),
  );
  readonly otherReference = $derived.by(() => referenceOf(this.other, this.otherVersion));

  /** What is looked at stays, though what comes may be listed before it. */
  override async load(signal?: AbortSignal): Promise<void> {
    await super.load(signal);
    this.#held = this.current?.id ?? '';
  }

  /** Adds a file of the user's and looks at it. */
  async upload(file: File, of: '' | `&${string}` = ''): Promise<EmbeddingRow> {
    const path = `${this.#context.api.url('upload')}?name=${encodeURIComponent(file.name)}${of}`;
    const row = await ask<EmbeddingRow>(path, { method: 'POST', body: file });
    this.rows = [...this.rows.filter(({ id }) => id !== row.id), row];
    return row;
  }
}

function pickVersion(row: EmbeddingRow | undefined, index: number | null): VersionRow | undefined {
  return row?.versions.find((version) => version.index === index) ?? row?.versions.at(-1);
}

function referenceOf(
  row: EmbeddingRow | undefined,
  version: VersionRow | undefined,
): Reference | null {
  return row && version && row.problem === ''
    ? { id: row.id, index: version.index, mark: version.mark }
    : null;
}
