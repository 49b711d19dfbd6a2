import { QueryMap, type Query } from '../../api/create-query.svelte';
import type { ColumnInfo, ColumnRequest, EmbeddingInfo } from '../../api/schemas';
import type { Context } from '../../plugin/context';
import {
  applyFilter,
  canFilter,
  type ColumnFilter,
  countRanges,
  countValues,
  type HistogramBar,
  isFilteredByRange,
  NO_FILTERS,
} from './column-filters';
import type { LabelColumn } from './label-column';
import type { ProjectorParams } from './projector-params';
import { columnQuery } from './query';
import type { RowMask } from './row-mask';

const MAX_VALUE_BARS = 12;

/** Filters of points by their label columns, and the columns that the table and the filters show. */
export class PointFilters {
  readonly #params: ProjectorParams;
  readonly #info: Query<EmbeddingInfo>;
  readonly #columns: QueryMap<ColumnRequest, LabelColumn>;
  /** A range that is being dragged; it is written to the URL afterwards. */
  #preview = $state.raw<readonly [name: string, filter: ColumnFilter | null] | null>(null);

  /** Call it where effects can be created. */
  constructor(context: Context, params: ProjectorParams, info: Query<EmbeddingInfo>) {
    this.#params = params;
    this.#info = info;
    this.#columns = new QueryMap(
      context.queries,
      columnQuery,
      (name) => {
        const { data } = info;
        if (!data?.columns.some((column) => column.name === name)) return null;
        const { id, index, mark, revision } = data;
        return { id, index, mark, name, revision };
      },
      { keepPrevious: (a, b) => a.name === b.name && a.mark === b.mark },
    );
    // Columns with a filter decide what is visible, whether their histograms are shown or not.
    $effect(() => this.load(this.names));
  }

  /** Load columns until the returned function is called. */
  load(names: readonly string[]): () => void {
    const removers = names.map((name) => this.#columns.subscribe(name));
    return () => removers.forEach((remove) => remove());
  }

  find(name: string): LabelColumn | undefined {
    return this.#columns.get(name)?.data;
  }

  /** Columns that can be filtered. */
  readonly columns = $derived.by<readonly ColumnInfo[]>(() =>
    (this.#info.data?.columns ?? []).filter(canFilter),
  );

  readonly #filters = $derived.by<ReadonlyMap<string, ColumnFilter>>(() => {
    const filters = new Map(Object.entries(this.#params.filters.value));
    if (this.#preview) {
      const [name, filter] = this.#preview;
      if (filter) filters.set(name, filter);
      else filters.delete(name);
    }
    const known = new Set((this.#info.data?.columns ?? []).map(({ name }) => name));
    return new Map([...filters].filter(([name]) => known.has(name)));
  });

  /** The columns with a filter. */
  readonly names = $derived.by<readonly string[]>(() => [...this.#filters.keys()]);

  /** The points that pass all filters; null without any. */
  readonly passing = $derived.by<RowMask | null>(() => this.#filterRows(null));

  get(name: string): ColumnFilter | null {
    return this.#filters.get(name) ?? null;
  }

  /** Return the histogram of a column, of the points that pass the filters of all other columns. */
  countBars(column: ColumnInfo): HistogramBar[] {
    const labels = this.find(column.name);
    if (!labels) return [];
    const mask = this.#filterRows(column.name);
    return isFilteredByRange(column)
      ? countRanges(column, labels, mask)
      : countValues(column, labels, mask, MAX_VALUE_BARS);
  }

  preview(name: string, filter: ColumnFilter | null): void {
    this.#preview = [name, filter];
  }

  set(name: string, filter: ColumnFilter | null): void {
    this.#preview = null;
    const filters = new Map(Object.entries(this.#params.filters.value));
    if (filter) filters.set(name, filter);
    else filters.delete(name);
    this.#params.filters.set(Object.fromEntries(filters), 'push');
  }

  /** Add a value to the filter of a column, or remove it. */
  toggleValue(name: string, text: string): void {
    const filter = this.get(name);
    const values = filter && 'values' in filter ? filter.values : [];
    const others = values.filter((value) => value !== text);
    const next = others.length < values.length ? others : [...values, text];
    this.set(name, next.length > 0 ? { values: next } : null);
  }

  clear(): void {
    this.#preview = null;
    this.#params.filters.set(NO_FILTERS, 'push');
  }

  /** Apply all filters but that of one column. Columns that are being loaded filter nothing yet. */
  #filterRows(except: string | null): RowMask | null {
    const filters = [...this.#filters].filter(([name]) => name !== except);
    if (filters.length === 0) return null;
    const mask = new Uint8Array(this.#info.data?.rows ?? 0).fill(1);
    for (const [name, filter] of filters) {
      const labels = this.find(name);
      if (labels) applyFilter(mask, labels, filter);
    }
    return mask;
  }
}
