import { untrack } from 'svelte';

import { Asking } from '../../../api/asking.svelte';
import type { Api } from '../../../plugin/context';
import type { NodeAnswer } from '../data/answers';
import { ASIDE, REST } from '../data/picture';
import type { Catalog } from './catalog.svelte';
import type { Params } from './params';
import { queryOf } from './reference';

/** All that is known of the chosen node. */
export class Details {
  readonly #api: Api;
  readonly #params: Params;
  readonly #catalog: Catalog;
  readonly #node = new Asking<NodeAnswer>();

  constructor(api: Api, params: Params, catalog: Catalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  get node(): NodeAnswer | null {
    return this.#node.answer;
  }

  get problem(): Asking<NodeAnswer>['problem'] {
    return this.#node.problem;
  }

  /** To be called where effects live. */
  follow(): void {
    $effect(() => {
      const { reference, current } = this.#catalog;
      const path = this.#params.node.value;
      const profile = this.#params.profile.value || current?.profiles[0];
      const fold = this.#params.fold.value ? '1' : '0';
      const more = { fold, ...(profile ? { profile } : {}) };
      const isReal = path !== null && !path.endsWith(REST) && !path.endsWith(ASIDE);
      const question =
        reference && isReal
          ? (signal: AbortSignal): Promise<NodeAnswer> =>
              this.#api.get(`node?${queryOf(reference, { path, ...more })}`, signal)
          : null;
      untrack(() => this.#node.ask(question, true));
    });
    $effect(() => () => this.#node.stop());
  }
}
