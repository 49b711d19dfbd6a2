import { type Query, QueryMap } from '../../api/create-query.svelte';
import type {
  ColumnHistogramsRequest,
  ColumnHistogramsResponse,
  ColumnInfo,
  ColumnRequest,
  EmbeddingInfo,
} from '../../api/schemas';
import type { Context } from '../../plugin/context';
import {
  applyFilter,
  BINS,
  canFilter,
  type ColumnFilter,
  type ColumnFilters,
  countRanges,
  countValues,
  type HistogramBar,
  isFilteredByRange,
  type LabelColumn,
  makeRangeBars,
  NO_FILTERS,
} from './label-columns';
import type { ProjectorParams } from './projector-params';
import { columnQuery, histogramsQuery } from './query';
import { countRows, type RowMask } from './row-mask';

const MAX_VALUE_BARS = 12;
const HISTOGRAMS_DEBOUNCE_MS = 80;

/** Filters of points by their label columns, and the columns that the table and the filters show. */
export class PointFilters {
  readonly #params: ProjectorParams;
  readonly #info: Query<EmbeddingInfo>;
  readonly #columns: QueryMap<ColumnRequest, LabelColumn>;
  /** Counted by the server if the columns are too long for the page. */
  readonly #histograms: Query<ColumnHistogramsResponse>;
  readonly #usesTiles: () => boolean;
  /** The columns whose histograms are shown. */
  #shown = $state.raw<readonly ColumnInfo[]>([]);
  /** A range that is being dragged; it is written to the URL afterwards. */
  #preview = $state.raw<readonly [name: string, filter: ColumnFilter | null] | null>(null);

  /** Call it where effects can be created. */
  constructor(
    context: Context,
    params: ProjectorParams,
    info: Query<EmbeddingInfo>,
    usesTiles: () => boolean,
  ) {
    this.#params = params;
    this.#info = info;
    this.#usesTiles = usesTiles;
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
    this.#histograms = context.query(histogramsQuery, () => this.#makeHistogramsRequest(), {
      debounceMs: HISTOGRAMS_DEBOUNCE_MS,
    });
    // Columns with a filter decide what is visible, whether their histograms are shown or not.
    $effect(() => (usesTiles() ? undefined : this.load(this.names)));
  }

  /** Count the histograms of columns until the returned function is called. */
  show(columns: readonly ColumnInfo[]): () => void {
    if (!this.#usesTiles()) return this.load(columns.map(({ name }) => name));
    this.#shown = columns;
    return () => (this.#shown = []);
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

  /** The filters in the URL, of the columns that this embedding has. */
  readonly #stored = $derived.by<ReadonlyMap<string, ColumnFilter>>(() => {
    const known = new Set((this.#info.data?.columns ?? []).map(({ name }) => name));
    const filters = Object.entries(this.#params.filters.value);
    return new Map(filters.filter(([name]) => known.has(name)));
  });

  readonly #filters = $derived.by<ReadonlyMap<string, ColumnFilter>>(() => {
    if (!this.#preview) return this.#stored;
    const [name, filter] = this.#preview;
    const filters = new Map(this.#stored);
    if (filter) filters.set(name, filter);
    else filters.delete(name);
    return filters;
  });

  /** The filters for requests; a range being dragged changes them when it is released. */
  readonly stored = $derived.by<ColumnFilters>(() => Object.fromEntries(this.#stored));

  /** The filters as JSON, for parameters of a URL. */
  readonly storedText = $derived.by(() =>
    this.#stored.size > 0 ? JSON.stringify(this.stored) : '',
  );

  /** The columns with a filter. */
  readonly names = $derived.by<readonly string[]>(() => [...this.#filters.keys()]);

  /** The points that pass all filters; null without any. */
  readonly passing = $derived.by<RowMask | null>(() =>
    this.#usesTiles() ? null : this.#filterRows(null),
  );

  /** The number of points that pass all filters; null without any, or until it is known. */
  readonly passingCount = $derived.by<number | null>(() => {
    if (this.#filters.size === 0) return null;
    if (this.#usesTiles()) return this.#histograms.data?.passing ?? null;
    return this.passing && countRows(this.passing);
  });

  get(name: string): ColumnFilter | null {
    return this.#filters.get(name) ?? null;
  }

  /** Return the histogram of a column, of the points that pass the filters of all other columns. */
  countBars(column: ColumnInfo): HistogramBar[] {
    if (this.#usesTiles()) return this.#readBars(column);
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

  #makeHistogramsRequest(): ColumnHistogramsRequest | null {
    const { data } = this.#info;
    if (!data || !this.#usesTiles()) return null;
    if (this.#shown.length === 0 && this.#filters.size === 0) return null;
    const { id, index, mark, revision } = data;
    const select = (isRange: boolean): string[] =>
      this.#shown.filter((column) => isFilteredByRange(column) === isRange).map(({ name }) => name);
    return {
      ...{ id, index, mark, revision, bins: BINS },
      ...{ ranges: select(true), values: select(false) },
      filters: Object.fromEntries(this.#filters),
    };
  }

  #readBars(column: ColumnInfo): HistogramBar[] {
    const counts = this.#histograms.data?.counts[column.name];
    if (!counts) return [];
    if (isFilteredByRange(column)) return makeRangeBars(column, counts);
    return column.values
      .slice(0, MAX_VALUE_BARS)
      .map(({ text }, at) => ({ text, low: NaN, high: NaN, count: counts[at] ?? 0 }));
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
