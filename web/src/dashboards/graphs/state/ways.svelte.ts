import { untrack } from 'svelte';

import { Asking } from '../../../api/asking.svelte';
import type { Api } from '../../../plugin/context';
import type { PathAnswer, TraceAnswer } from '../data/answers';
import type { Ranks } from '../data/ranks';
import type { Catalog } from './catalog.svelte';
import type { Params } from './params';
import { queryOf } from './reference';

/** Ways through the graph from the chosen node: to all that it needs or feeds, or to one other. */
export class Ways {
  readonly inputs = new Asking<TraceAnswer>();
  readonly outputs = new Asking<TraceAnswer>();
  readonly path = new Asking<PathAnswer>();
  readonly #api: Api;
  readonly #params: Params;
  readonly #catalog: Catalog;

  constructor(api: Api, params: Params, catalog: Catalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  /** What is on the ways; null where none is looked for. */
  readonly lit = $derived.by<readonly Ranks[] | null>(() => {
    const path = this.path.answer;
    if (this.#params.from.value !== null && path) return [path];
    if (this.#params.trace.value === 'off') return null;
    const found = [this.inputs.answer, this.outputs.answer].filter((answer) => answer !== null);
    return found.length > 0 ? found : null;
  });

  /** To be called where effects live. */
  follow(): void {
    $effect(() => this.#trace('inputs'));
    $effect(() => this.#trace('outputs'));
    $effect(() => {
      const { reference } = this.#catalog;
      const [start, end] = [this.#params.from.value, this.#params.node.value];
      const fold = this.#params.fold.value ? '1' : '0';
      const question =
        reference && start !== null && end !== null && start !== end
          ? (signal: AbortSignal): Promise<PathAnswer> =>
              this.#api.get(`path?${queryOf(reference, { start, end, fold })}`, signal)
          : null;
      untrack(() => this.path.ask(question));
    });
    $effect(() => () => [this.inputs, this.outputs, this.path].forEach((ask) => ask.stop()));
  }

  #trace(direction: 'inputs' | 'outputs'): void {
    const { reference } = this.#catalog;
    const [path, trace] = [this.#params.node.value, this.#params.trace.value];
    const isWanted = trace === direction || trace === 'both';
    const question =
      reference && path !== null && isWanted
        ? (signal: AbortSignal): Promise<TraceAnswer> =>
            this.#api.get(`trace?${queryOf(reference, { path, direction })}`, signal)
        : null;
    untrack(() => this[direction].ask(question, true));
  }
}
