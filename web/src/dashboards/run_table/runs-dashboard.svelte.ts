/** State and queries of the Runs dashboard. */
import { createContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import { defineQuery } from '../../api/query-definition';
import type {
  ColumnListResponse,
  RunFilterRequest,
  RunNamesResponse,
  RunNote,
  RunTableGroup,
  RunTableRequest,
  RunTableResponse,
  RunTableRow,
} from '../../api/schemas';
import { downloadBlob } from '../../cards/export';
import * as m from '../../catalog/run_table';
import { moveKey, type SortOrder, sortOrdersCodec } from '../../components/data-table';
import { choice, type Codec, flag, json, list, text } from '../../lib/codecs';
import { type Context, NO_COLUMNS, type NoteField, type Param } from '../../plugin/context';
import { PagedRows } from '../../plugin/paged-rows.svelte';
import { STATES } from './run-columns';

const REFRESH_MS = 2000;
/** A run becomes stalled without any change of the log. */
const RUNNING_POLL_MS = 30_000;
/** The server is still adding the last change of a large log. */
const UPDATING_POLL_MS = 1000;

/** A page of the table of runs. */
export const runTableQuery = defineQuery('POST runs/table', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
  poll: ({ states, updating }) => {
    if (updating) return UPDATING_POLL_MS;
    return states['running'] || states['stalled'] ? RUNNING_POLL_MS : null;
  },
});

/** The hyperparameters and metrics that can be columns. */
export const columnListQuery = defineQuery('GET runs/columns', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export type Aggregate = NonNullable<RunTableRequest['aggregate']>;
export const AGGREGATES: readonly Aggregate[] = ['mean', 'median', 'min', 'max', 'sum'];

type Widths = Readonly<Record<string, number>>;

const NAME_KEY = 'name';
const MAX_AUTO_HPARAMS = 5;
const MAX_AUTO_METRICS = 4;
export const MAX_COMPARED_RUNS = 20;
/** Scalars that are logged with training but do not measure its quality. */
const BOOKKEEPING = /(^|\/|_)(epoch|step|lr|learning_rate|hp_metric)\b|^lr-|^system\//i;

const EMPTY_NOTE: RunNote = {
  note: '',
  alias: '',
  hidden: false,
  color: '',
  labels: [],
  pinned: false,
};

/** `~` stands for the default columns, since a list may also be empty. */
const columnsCodec: Codec<readonly string[] | null> = {
  parse: (value) => (value === '~' ? null : list.parse(value)),
  format: (keys) => (keys === null ? '~' : list.format(keys)),
};

/** The state of the Runs dashboard: what is shown is in the URL, what is selected is not. */
export class RunsDashboard {
  readonly context: Context;
  readonly filter: Param<string>;
  readonly sort: Param<readonly SortOrder[]>;
  readonly groupBy: Param<readonly string[]>;
  readonly aggregate: Param<Aggregate>;
  readonly expanded: Param<readonly string[]>;
  readonly showsHidden: Param<boolean>;
  readonly rows: PagedRows<RunTableRequest, RunTableResponse>;
  readonly #chosenColumns: Param<readonly string[] | null>;
  readonly #widths: Param<Widths>;
  readonly #openRun: Param<string>;
  readonly #comparedRuns: Param<readonly string[]>;
  readonly #available: Query<ColumnListResponse>;

  /** Runs that bulk actions apply to. */
  selected = $state.raw<ReadonlySet<string>>(new Set());
  /** Index of the row with the keyboard focus. */
  activeIndex = $state(-1);
  editing = $state.raw<{ readonly name: string; readonly field: NoteField } | null>(null);

  readonly #defaultColumns: readonly string[] = $derived.by(() => {
    const { hparams, metrics } = this.available;
    const differing = hparams.filter(({ distinct }) => distinct > 1).slice(0, MAX_AUTO_HPARAMS);
    const quality = metrics.filter((tag) => !BOOKKEEPING.test(tag)).slice(0, MAX_AUTO_METRICS);
    return [
      'state',
      'start',
      'duration',
      ...differing.map(({ name }) => `hparam:${name}`),
      ...quality.map((tag) => `last:${tag}`),
      'labels',
      'note',
    ];
  });
  /** Keys of the visible columns besides the name. */
  readonly columnKeys = $derived.by(() => this.#chosenColumns.value ?? this.#defaultColumns);
  readonly filterRequest: RunFilterRequest = $derived.by(() => ({
    filter: this.filter.value,
    show_hidden: this.showsHidden.value,
    sort: this.sort.value.map(({ key, descending }) => (descending ? `-${key}` : key)),
  }));
  readonly #request: RunTableRequest | null = $derived.by(() =>
    // The default columns are not known before, and every column is part of the request.
    this.#chosenColumns.value === null && this.#available.data === undefined
      ? null
      : {
          ...this.filterRequest,
          columns: [NAME_KEY, ...this.columnKeys],
          group_by: this.groupBy.value,
          expanded: this.groupBy.value.length > 0 ? this.expanded.value : [],
          aggregate: this.aggregate.value,
        },
  );

  /** Create it in a component: it follows queries. */
  constructor(context: Context) {
    this.context = context;
    const { url, preferences } = context;
    this.filter = url.param('rt-filter', text, '');
    this.sort = url.param('rt-sort', sortOrdersCodec, []);
    this.groupBy = url.param('rt-group', list, []);
    this.aggregate = url.param('rt-aggregate', choice(AGGREGATES, 'mean'), 'mean');
    this.expanded = url.param('rt-expanded', list, []);
    this.showsHidden = url.param('rt-hidden', flag, false);
    this.#chosenColumns = url.param('rt-columns', columnsCodec, null);
    this.#widths = preferences.param('run-table-widths', json(isWidths, {}), {});
    this.#openRun = url.param('rt-run', text, '');
    this.#comparedRuns = url.param('rt-compare', list, []);
    this.#available = context.query(columnListQuery, () => ({}));
    this.rows = new PagedRows(context, runTableQuery, () => this.#request);
    let isFirst = true;
    $effect(() => {
      void context.notes.runs;
      if (!isFirst) context.queries.invalidate(runTableQuery);
      isFirst = false;
    });
  }

  get available(): ColumnListResponse {
    return this.#available.data ?? NO_COLUMNS;
  }

  get labels(): string[] {
    const labels = Object.values(this.context.notes.runs).flatMap((note) => note.labels);
    return [...new Set(labels)].sort();
  }

  getNote(name: string): RunNote {
    return this.context.notes.runs[name] ?? EMPTY_NOTE;
  }

  find(index: number): RunTableRow | undefined {
    const found = this.rows.find(index);
    return found?.page.rows[found.at];
  }

  // ---- columns

  getWidth(key: string): number | undefined {
    return this.#widths.value[key];
  }

  setWidth(key: string, width: number): void {
    this.#widths.set({ ...this.#widths.value, [key]: width });
  }

  toggleColumn(key: string): void {
    const keys = this.columnKeys;
    this.#chosenColumns.set(
      keys.includes(key) ? keys.filter((other) => other !== key) : [...keys, key],
    );
  }

  moveColumn(key: string, before: string | null): void {
    this.#chosenColumns.set(moveKey(this.columnKeys, key, before));
  }

  resetColumns(): void {
    this.#chosenColumns.set(null);
  }

  // ---- groups

  toggleGroupBy(key: string): void {
    const keys = this.groupBy.value;
    this.groupBy.set(
      keys.includes(key) ? keys.filter((other) => other !== key) : [...keys, key].slice(-3),
      'push',
    );
    this.expanded.set([]);
  }

  toggleGroup({ id, expanded }: RunTableGroup): void {
    const others = this.expanded.value.filter((other) => other !== id);
    this.expanded.set(expanded ? others : [...others, id]);
  }

  // ---- selection and bulk actions

  toggleSelected(names: readonly string[], selected: boolean): void {
    const next = new Set(this.selected);
    for (const name of names)
      if (selected) next.add(name);
      else next.delete(name);
    this.selected = next;
  }

  async selectAllMatching(): Promise<void> {
    this.selected = new Set(await this.listMatchingNames());
  }

  async listMatchingNames(): Promise<readonly string[]> {
    const { names } = await this.context
      .getApi('runs')
      .post<RunNamesResponse>('names', this.filterRequest);
    return names;
  }

  // ---- one run, and several side by side

  openRun(name: string): void {
    this.#openRun.set(name, 'push');
    this.#comparedRuns.set([]);
  }

  openComparison(names: readonly string[]): void {
    this.#comparedRuns.set(names.slice(0, MAX_COMPARED_RUNS), 'push');
    this.#openRun.set('');
  }

  /** Show the table again. */
  closeDetails(): void {
    if (this.shownRun === '') this.#comparedRuns.set([], 'push');
    else this.#openRun.set('', 'push');
    this.#comparedRuns.set([]);
  }

  /** The run whose page is open; empty without one. */
  get shownRun(): string {
    return this.#openRun.value;
  }

  get comparedRuns(): readonly string[] {
    return this.#comparedRuns.value;
  }

  showInCharts(names: readonly string[]): void {
    this.context.runs.selectOnly(names);
    this.context.url.param('tab', text, '').set('scalars', 'push');
  }

  async export(format: 'csv' | 'parquet' | 'json'): Promise<void> {
    const body = { ...this.filterRequest, format, columns: [NAME_KEY, ...this.columnKeys] };
    downloadBlob(await this.context.getApi('runs').blob('export', body), `runs.${format}`);
  }

  /** The counts by state, in a fixed order. */
  get stateCounts(): { readonly state: string; readonly count: number }[] {
    const states = this.rows.first?.states ?? {};
    return STATES.flatMap((state) => {
      const count = states[state];
      return count ? [{ state, count }] : [];
    });
  }

  /** Show only runs in a state, or all again. */
  toggleStateFilter(state: string): void {
    const term = `state = ${state}`;
    const value = this.filter.value.trim();
    if (value === term) this.filter.set('');
    else if (value.startsWith(`${term} and `)) this.filter.set(value.slice(term.length + 5));
    else if (value === '') this.filter.set(term);
    else this.filter.set(`${term} and (${value})`);
  }

  get summary(): string {
    const first = this.rows.first;
    if (!first) return '';
    return first.matched === first.runs - (this.showsHidden.value ? 0 : first.hidden)
      ? m.allRuns({ count: first.matched })
      : m.matchingRuns({ matched: first.matched, count: first.runs });
  }
}

function isWidths(value: unknown): value is Widths {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((width) => typeof width === 'number')
  );
}

export const [getRunsDashboard, setRunsDashboard] = createContext<RunsDashboard>();
