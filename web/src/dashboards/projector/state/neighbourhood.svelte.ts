import { untrack } from 'svelte';

import { Asking } from '../../../api/asking.svelte';
import type { Api } from '../../../plugin/context';
import type { NeighboursAnswer, PointAnswer, SearchAnswer } from '../data/answers';
import { encodeMask, type Mask } from '../data/rows';
import type { Catalog } from './catalog.svelte';
import { queryOf } from './query';
import type { Params } from './params';

/** While somebody types, so long is waited for the next letter. */
const PAUSE_MS = 120;

/** What was looked for in the labels, and which points are near the one that is looked at. */
export class Neighbourhood {
  readonly found = new Asking<SearchAnswer>();
  readonly near = new Asking<NeighboursAnswer>();
  readonly point = new Asking<PointAnswer>();
  readonly #api: Api;
  readonly #params: Params;
  readonly #catalog: Catalog;

  constructor(api: Api, params: Params, catalog: Catalog) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
  }

  /** To be called where effects live. */
  follow(ways: {
    spherizes: () => boolean;
    only: () => Mask | null;
    revision: () => number;
  }): void {
    $effect(() => {
      ways.revision();
      const { reference } = this.#catalog;
      const query = this.#params.query.value.trim();
      const [regex, column] = [this.#params.regex.value, this.#params.column.value];
      if (query === '' || !reference) return untrack(() => this.found.ask(null));
      const body = { ...reference, query, regex, column };
      const timer = setTimeout(
        () => this.found.ask((signal) => this.#api.post('search', body, signal), true),
        PAUSE_MS,
      );
      return () => clearTimeout(timer);
    });
    $effect(() => {
      const { reference } = this.#catalog;
      const row = this.#params.point.value;
      const [metric, count] = [this.#params.near.value, this.#params.count.value];
      const [spherize, within] = [ways.spherizes(), encodeMask(ways.only())];
      const body = { ...reference, row, metric, count, spherize, within };
      const asked = reference && row !== null;
      untrack(() =>
        this.near.ask(asked ? (signal) => this.#api.post('neighbours', body, signal) : null, true),
      );
    });
    $effect(() => {
      ways.revision();
      const { reference } = this.#catalog;
      const row = this.#params.point.value;
      const path = reference && row !== null ? `point?${queryOf({ ...reference, row })}` : null;
      untrack(() =>
        this.point.ask(path === null ? null : (signal) => this.#api.get(path, signal), true),
      );
    });
    $effect(() => () => [this.found, this.near, this.point].forEach((asking) => asking.stop()));
  }
}
