import { untrack } from 'svelte';

import { QueryMap } from '../api/create-query.svelte';
import type { ObserveOptions, QueryDefinition } from '../api/query-definition';
import type { Problem } from '../api/schemas';
import type { Context } from './context';

export const PAGE_ROWS = 200;

interface PageRequest {
  readonly offset?: number;
  readonly limit?: number;
}

/** A row of a page. */
export interface PagedRow<Page> {
  readonly page: Page;
  /** Position within the page. */
  readonly at: number;
}

/** The rows of a list that is loaded in pages while it scrolls. Create it in a component. */
export class PagedRows<Request extends PageRequest, Page extends { readonly total: number }> {
  readonly #pages: QueryMap<Request, Page>;
  #range = $state.raw<readonly [number, number]>([0, 1]);
  #subscriptions = new Map<string, () => void>();

  /** The first page is always loaded, since it tells the number of rows. */
  readonly #visiblePages = $derived.by(() => {
    const [first, end] = this.#range.map((row) => Math.floor(row / PAGE_ROWS)) as [number, number];
    const pages = Array.from({ length: end - first + 1 }, (_, at) => String(first + at));
    return [...new Set(['0', ...pages])];
  });

  /** `makeRequest` is reactive; offset and limit are added. */
  constructor(
    context: Context,
    definition: QueryDefinition<Request, Page>,
    makeRequest: () => Request | null,
    options: ObserveOptions<Request> = {},
  ) {
    const makePageRequest = (key: string): Request | null => {
      const request = makeRequest();
      return request && { ...request, offset: Number(key) * PAGE_ROWS, limit: PAGE_ROWS };
    };
    this.#pages = new QueryMap(context.queries, definition, makePageRequest, options);
    $effect(() => {
      const wanted = this.#visiblePages;
      untrack(() => this.#subscribe(wanted));
    });
    $effect(() => () => untrack(() => this.#subscribe([])));
  }

  get first(): Page | undefined {
    return this.#pages.get('0')?.data;
  }

  get total(): number {
    return this.first?.total ?? 0;
  }

  get isLoading(): boolean {
    return this.first === undefined && this.error === null;
  }

  get error(): Problem | null {
    return this.#pages.get('0')?.error?.problem ?? null;
  }

  retry(): void {
    this.#pages.get('0')?.retry();
  }

  /** Return a row; undefined until its page is loaded. */
  find(index: number): PagedRow<Page> | undefined {
    const page = this.#pages.get(String(Math.floor(index / PAGE_ROWS)))?.data;
    return page && { page, at: index % PAGE_ROWS };
  }

  setVisible(first: number, end: number): void {
    this.#range = [first, Math.max(first, end - 1)];
  }

  #subscribe(wanted: readonly string[]): void {
    const next = new Map(
      wanted.map((page) => [page, this.#subscriptions.get(page) ?? this.#pages.subscribe(page)]),
    );
    for (const [page, stop] of this.#subscriptions) if (!next.has(page)) stop();
    this.#subscriptions = next;
  }
}
