import { untrack } from 'svelte';

import { Asking } from '../../../api/asking.svelte';
import type { Api } from '../../../plugin/context';
import type { HitRow, SearchAnswer } from '../data/answers';
import type { Catalog } from './catalog.svelte';
import type { Params } from './params';
import { queryOf } from './reference';

const MOST = 100;
/** While somebody types, so long is waited for the next letter. */
const PAUSE_MS = 120;

/** What was looked for in the graph, and found. */
export class Search {
  readonly #api: Api;
  readonly #params: Params;
  readonly #catalog: Catalog;
  readonly #found = new Asking<SearchAnswer>();

  constructor(api: Api, params: Params, catalog: Catalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  get hits(): readonly HitRow[] {
    return this.#found.answer?.hits ?? [];
  }

  get total(): number {
    return this.#found.answer?.total ?? 0;
  }

  get isReady(): boolean {
    return this.#found.answer !== null;
  }

  get problem(): Asking<SearchAnswer>['problem'] {
    return this.#found.problem;
  }

  /** To be called where effects live. */
  follow(): void {
    $effect(() => {
      const { reference } = this.#catalog;
      const [query, fold] = [this.#params.query.value.trim(), this.#params.fold.value ? '1' : '0'];
      if (query === '' || !reference) return untrack(() => this.#found.ask(null));
      const asked = queryOf(reference, { query, fold, most: String(MOST) });
      const timer = setTimeout(
        () => this.#found.ask((signal) => this.#api.get(`search?${asked}`, signal), true),
        PAUSE_MS,
      );
      return () => clearTimeout(timer);
    });
    $effect(() => () => this.#found.stop());
  }
}
