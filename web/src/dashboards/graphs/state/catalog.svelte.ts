import { ask } from '../../../api/client';
import { Listing } from '../../../api/listing.svelte';
import type { Context } from '../../../plugin/context';
import type { GraphRow, GraphsAnswer } from '../data/answers';
import type { Params } from './params';
import { compareId, type GraphReference } from './reference';

/** All graphs that can be looked at, and which of them are. */
export class Catalog extends Listing<GraphRow> {
  readonly #context: Context;
  readonly #params: Params;

  constructor(context: Context, params: Params) {
    super(async (signal) => (await context.api.get<GraphsAnswer>('list', signal)).graphs);
    this.#context = context;
    this.#params = params;
  }

  /** The one that the address names, else the first of a run that is shown. */
  readonly current = $derived.by<GraphRow | undefined>(() => {
    const named = this.find(this.#params.graph.value);
    if (named) return named;
    const { shown } = this.#context.runs;
    for (const { name } of shown) {
      const own = this.rows.filter((row) => row.run === name);
      if (own.length > 0) return own.find(({ kind }) => kind === 'conceptual') ?? own[0];
    }
    return this.rows[0];
  });

  /** The one that it is compared with. */
  readonly other = $derived.by<GraphRow | undefined>(() => this.find(this.#params.other.value));

  readonly reference = $derived.by<GraphReference | null>(() => {
    const { current, other } = this;
    if (!current) return null;
    if (other) return { id: compareId(current.id, other.id), index: null, mark: null };
    const wanted = current.steps.find(({ index }) => index === this.#params.step.value);
    const step = wanted ?? current.steps.at(-1);
    return { id: current.id, index: step?.index ?? null, mark: step?.mark ?? null };
  });

  /** The same text for as long as the graph is the same. */
  readonly key = $derived(JSON.stringify(this.reference));

  /** Looks at a graph from its top, with nothing chosen. */
  choose(id: string): void {
    const { graph, other, step, open, node, from, trace, view, aside, back } = this.#params;
    graph.set(id, 'push');
    if (other.value === id) other.set('');
    for (const param of [aside, back]) param.set([]);
    for (const param of [open, step, node, from, view]) param.set(null);
    trace.set('off');
  }

  compareWith(id: string): void {
    this.#params.other.set(id, 'push');
    this.#params.node.set(null);
    this.#params.view.set(null);
  }

  /** Adds a file of the user's and looks at it. */
  async upload(file: File): Promise<void> {
    const path = `${this.#context.api.url('upload')}?name=${encodeURIComponent(file.name)}`;
    const row = await ask<GraphRow>(path, { method: 'POST', body: file });
    this.rows = [...this.rows, row];
    this.choose(row.id);
  }
}
