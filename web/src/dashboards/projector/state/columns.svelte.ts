import { SvelteMap } from 'svelte/reactivity';
import { untrack } from 'svelte';

import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import type { Api } from '../../../plugin/context';
import type { ColumnAnswer } from '../data/answers';
import { Labels } from '../data/labels';
import type { Reference } from './catalog.svelte';
import { queryOf } from './query';

/** Columns of labels that somebody looked at, of one embedding. */
export class LabelColumns {
  problem = $state.raw<Problem | null>(null);
  readonly #api: Api;
  readonly #known = new SvelteMap<string, Labels | null>();
  #of = $state.raw<(Reference & { readonly revision: number }) | null>(null);

  constructor(api: Api) {
    this.#api = api;
  }

  /** From now on columns are those of another embedding, or of one that was edited. */
  lookAt(of: (Reference & { readonly revision: number }) | null): void {
    this.#of = of;
    this.problem = null;
    this.#known.clear();
  }

  /** Undefined while it is on its way; asking for it sends for it. */
  find(name: string | null): Labels | undefined {
    if (name === null || !this.#of) return undefined;
    const known = this.#known.get(name);
    if (known === undefined) untrack(() => void this.#load(name));
    return known ?? undefined;
  }

  async #load(name: string): Promise<void> {
    const of = this.#of;
    if (!of) return;
    // Not within who asks, who may be in the middle of being derived.
    await Promise.resolve();
    if (this.#of !== of || this.#known.has(name)) return;
    this.#known.set(name, null);
    try {
      const path = `column?${queryOf({ ...of, name })}`;
      const answer = await this.#api.get<ColumnAnswer>(path);
      if (this.#of === of) this.#known.set(name, new Labels(answer));
    } catch (error) {
      if (!isAbort(error) && this.#of === of) this.problem = problemOf(error);
    }
  }
}
