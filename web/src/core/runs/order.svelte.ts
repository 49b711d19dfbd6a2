import type { Codec } from '../../base/codec';
import { orderBy } from '../../base/order';
import { address } from '../address.svelte';
import { entries } from './entries.svelte';

/** The column by which the table is sorted. */
export interface Sorting {
  readonly key: string;
  readonly descending: boolean;
}

const BY_NAME: Sorting = { key: 'name', descending: false };

const sortingCodec: Codec<Sorting> = {
  parse: (text) => ({ key: text.replace(/^-/, '') || 'name', descending: text.startsWith('-') }),
  format: ({ key, descending }) => (descending ? `-${key}` : key),
};

class Order {
  readonly #sorting = address.param('sort', sortingCodec, BY_NAME);

  /** All runs; filtering them keeps the order, so that a keystroke sorts nothing. */
  readonly sorted = $derived.by(() => {
    const { key, descending } = this.sorting;
    // The server's order is that of names.
    if (key === 'name') return descending ? entries.all.toReversed() : entries.all;
    return orderBy(entries.all, (entry) => entry.valueOf(key), descending);
  });

  get sorting(): Sorting {
    return this.#sorting.value;
  }

  /** Of a metric the highest is looked for first, of a name or a setting the lowest. */
  sortBy(key: string): void {
    const { sorting } = this;
    const descending = key === sorting.key ? !sorting.descending : startsHigh(key);
    this.sort({ key, descending });
  }

  sort(sorting: Sorting): void {
    this.#sorting.set(sorting);
  }
}

function startsHigh(key: string): boolean {
  return /^(last|max):/.test(key) || ['start', 'duration', 'points', 'tags'].includes(key);
}

export const order = new Order();
