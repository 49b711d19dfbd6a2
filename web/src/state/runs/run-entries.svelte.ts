import { parseJsonNumber } from '../../api/columns';
import { QueryObserver } from '../../api/create-query.svelte';
import type { QueryCache } from '../../api/query-cache';
import { defineQuery } from '../../api/query-definition';
import type {
  Cell as ColumnCell,
  ColumnListResponse,
  ColumnsResponse,
  GroupQuery,
  RunNote,
  RunRow,
} from '../../api/schemas';
import { type SampleStats, sortByValue } from '../../lib/arrays';
import { type Codec, json, list } from '../../lib/codecs';
import type { FieldValue, FilterSubject } from '../../lib/filter-expression';
import { countFolders, findCommonFolder, getFolder } from '../../lib/grouping';
import { MAX_AUTO_SELECTED } from '../../lib/run-selection';
import {
  NO_COLUMNS,
  type Param,
  type Preferences,
  type RunSet,
  type UrlState,
} from '../../plugin/context';
import type { LiveLog } from '../live-log.svelte';
import { EMPTY_NOTE, type LogNotes } from '../notes.svelte';
import type { RunsPanelState } from '../preferences.svelte';

const SERVER_COLUMN = /^(hparam|last|min|max):/;
const NON_FINITE_STRINGS: readonly ColumnCell[] = ['NaN', 'Infinity', '-Infinity'];

/** The key of a column of the run table. */
export type RunColumnKey = `hparam:${string}` | `${'last' | 'min' | 'max'}:${string}`;

type Values = ReadonlyMap<string, ReadonlyMap<string, FieldValue>>;

const columnListQuery = defineQuery('GET runs/columns', { scope: 'log' });
const columnsQuery = defineQuery('POST runs/columns', { scope: 'log', select: parseValues });

/** Values of runs that the server computes: hyperparameters and summaries of metrics. */
export class RunColumnValues {
  /** The columns that can be requested. */
  available = $state.raw<ColumnListResponse>(NO_COLUMNS);
  /** True after the first response. */
  isReady = $state(false);
  /** Of a large log, the list of runs has the values. */
  list = $state.raw<{ getCell(key: string, run: string): FieldValue } | null>(null);

  #values = $state.raw<Values>(new Map());
  readonly #listObserver;
  readonly #valuesObserver;

  constructor(queries: QueryCache) {
    this.#listObserver = new QueryObserver(queries, columnListQuery, {}, ({ data }) => {
      if (!data) return;
      this.available = data;
      this.isReady = true;
    });
    this.#valuesObserver = new QueryObserver(queries, columnsQuery, {}, ({ data }) => {
      if (data) this.#values = data;
    });
  }

  get(key: string, run: string): FieldValue {
    if (this.list) return this.list.getCell(key, run);
    return this.#values.get(key)?.get(run) ?? null;
  }

  start(): void {
    this.#listObserver.setRequest({});
  }

  /** Keep these columns up to date; keys of columns that the server does not have are ignored. */
  subscribe(keys: Iterable<string>): void {
    const columns = [...new Set(keys)].filter(isColumnKey);
    this.#valuesObserver.setRequest(columns.length > 0 ? { columns } : null);
  }
}

function isColumnKey(key: string): key is RunColumnKey {
  return SERVER_COLUMN.test(key);
}

function parseValues({ runs, columns }: ColumnsResponse): Values {
  return new Map(
    Object.entries(columns).map(([key, cells]) => [
      key,
      new Map(runs.map((run, at) => [run, parseCell(cells[at] ?? null)])),
    ]),
  );
}

function parseCell(cell: ColumnCell): FieldValue {
  return NON_FINITE_STRINGS.includes(cell) ? Number(cell) : cell;
}

const DEFAULT_COLUMNS = ['start', 'points'];
const MAX_AUTO_COLUMNS = 2;
/** Checkbox, gaps and padding of a row. */
const ROW_EXTRA_PX = 48;
/** Average width of a character of a name. */
const CHARACTER_PX = 6.8;
/** Names longer than this do not displace columns. */
const MAX_NAME_CHARACTERS = 34;
export const MIN_COLUMN_PX = 36;
export const MAX_COLUMN_PX = 400;
const DEFAULT_WIDTHS: Readonly<Record<string, number>> = {
  start: 94,
  duration: 84,
  points: 54,
  tags: 48,
  labels: 90,
  note: 140,
};
const DEFAULT_WIDTH = 62;

type Widths = Readonly<Record<string, number>>;

/** The columns of the table beside the name. */
export class VisibleColumns {
  readonly #columnValues: RunColumnValues;
  readonly #entries: RunEntries;
  readonly #panel: RunsPanelState;
  readonly #chosen: Param<readonly string[] | null>;
  readonly #widths: Param<Widths>;

  /** Columns that the user chose, or the default, whether they have values or not. */
  readonly selected: readonly string[] = $derived.by(
    () => this.#chosen.value ?? this.#fitBesideNames(this.#defaultKeys),
  );

  /** Selected columns with a value for at least one run. */
  readonly keys: readonly string[] = $derived.by(() =>
    this.selected.filter((key) => this.#entries.all.some((entry) => entry.hasValue(key))),
  );

  /** Hyperparameters that differ between runs are the most useful default. */
  readonly #defaultKeys: readonly string[] = $derived.by(() => {
    if (this.#entries.count === 0) return DEFAULT_COLUMNS;
    const differing = this.#columnValues.available.hparams.filter(({ distinct }) => distinct > 1);
    const keys = differing.slice(0, MAX_AUTO_COLUMNS).map(({ name }) => `hparam:${name}`);
    return keys.length > 0 ? keys : DEFAULT_COLUMNS;
  });

  readonly #nameWidth = $derived.by(() => {
    const entries = this.#entries;
    const lengths = entries.all.map((entry) => entries.getLabelInFolder(entry).length);
    const longest = lengths.reduce((max, length) => Math.max(max, length), 0);
    return CHARACTER_PX * Math.min(MAX_NAME_CHARACTERS, longest);
  });

  constructor(
    url: UrlState,
    preferences: Preferences,
    panel: RunsPanelState,
    columnValues: RunColumnValues,
    entries: RunEntries,
  ) {
    this.#panel = panel;
    this.#columnValues = columnValues;
    this.#entries = entries;
    const codec: Codec<readonly string[] | null> = {
      parse: list.parse,
      format: (keys) => (keys === null ? '~' : list.format(keys)),
    };
    this.#chosen = url.param('columns', codec, null);
    this.#widths = preferences.param('runs-column-widths', json(isWidths, {}), {});
  }

  getWidth(key: string): number {
    return this.#widths.value[key] ?? DEFAULT_WIDTHS[key] ?? DEFAULT_WIDTH;
  }

  resize(key: string, width: number): void {
    this.#widths.set({ ...this.#widths.value, [key]: width });
  }

  add(key: string): void {
    if (!this.selected.includes(key)) this.#chosen.set([...this.selected, key]);
  }

  remove(key: string): void {
    this.#chosen.set(this.selected.filter((other) => other !== key));
  }

  /** Move a column `by` positions to the right. */
  move(key: string, by: number): void {
    const others = this.selected.filter((other) => other !== key);
    const index = this.selected.indexOf(key) + by;
    this.#chosen.set(others.toSpliced(Math.max(0, index), 0, key));
  }

  /** Drop columns from the end until the names fit too. */
  #fitBesideNames(keys: readonly string[]): readonly string[] {
    if (this.#panel.hasTwoLines) return keys;
    let available = this.#panel.width - ROW_EXTRA_PX - this.#nameWidth;
    return keys.filter((key) => (available -= this.getWidth(key)) >= 0);
  }
}

function isWidths(value: unknown): value is Widths {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((width) => typeof width === 'number')
  );
}

/** A run with everything that the table shows of it. A change creates another object. */
export class RunEntry implements FilterSubject {
  readonly kind = 'run';
  /** Identifies the table row. */
  readonly id: string;
  readonly name: string;
  /** The user's alias, or the name. */
  readonly label: string;
  /** Name and alias in lower case, computed once because every keystroke in the filter reads it. */
  readonly searchText: string;
  /** Seconds since 1970. */
  readonly start: number | null;
  readonly duration_s: number | null;

  constructor(
    readonly row: RunRow,
    readonly userNote: RunNote,
    private readonly columnValues: RunColumnValues,
  ) {
    this.id = `run:${row.name}`;
    this.name = row.name;
    this.label = userNote.alias || row.name;
    this.searchText = `${row.name}\n${userNote.alias}`.toLowerCase();
    this.start = parseJsonNumber(row.start_wall);
    const last = parseJsonNumber(row.last_wall);
    this.duration_s = this.start === null || last === null ? null : last - this.start;
  }

  getValue(key: string): FieldValue {
    switch (key) {
      case 'name':
        return this.name;
      case 'alias':
        return this.userNote.alias || null;
      case 'note':
        return this.userNote.note || null;
      case 'labels':
        return this.userNote.labels;
      case 'start':
        return this.start;
      case 'duration':
        return this.duration_s;
      case 'points':
        return this.row.points;
      case 'tags':
        return this.row.tags;
      default:
        return this.columnValues.get(key, this.name);
    }
  }

  hasValue(key: string): boolean {
    const value = this.getValue(key);
    return value !== null && !(Array.isArray(value) && value.length === 0);
  }
}

/** The runs of a group that match the filter: the header row of the group. */
export interface RunGroupRow {
  readonly kind: 'group';
  /** Identifies the table row. */
  readonly id: string;
  /** Empty for runs without a group. */
  readonly key: string;
  readonly label: string;
  /** In a large log, those that charts show. */
  readonly members: readonly RunEntry[];
  /** What a selection contains for the group: its runs or, in a large log, the group itself. */
  readonly names: readonly string[];
  /** Of the column that the table is sorted by, if it has numbers. */
  readonly stats: SampleStats | null;
  /** In a large log, where `members` are not all. */
  readonly counts?: { readonly runs: number; readonly selected: number };
  readonly all?: RunSet;
}

/** A row of the table: a run, or the header of a group. */
export type TableRow = RunEntry | RunGroupRow;

/** What the server tells of the runs of a log that has more than the page loads. */
export interface RunList {
  /** All rows of the table; undefined until `load` is called for them. */
  readonly rows: readonly (TableRow | undefined)[];
  /** The first selected runs, which charts show. */
  readonly visible: readonly RunEntry[];
  /** The groups that have selected runs. */
  readonly groups: readonly RunGroupRow[];
  /** The groups of the runs that are loaded. */
  readonly groupKeys: ReadonlyMap<string, string>;
  /** Numbers of runs that match the filter, that are also selected, and that are hidden. */
  readonly counts: { readonly matched: number; readonly selected: number; readonly hidden: number };
  readonly commonFolder: string;
  /** Why the server rejected the filter. */
  readonly error: string | null;
  /** All selected runs. */
  readonly selection: RunSet | null;
  /** Describes all runs that match the filter. */
  readonly matching: GroupQuery;
  load(index: number): void;
  /** Return whether a run is selected if the selection does not name it. */
  isSelectedByRule(name: string): boolean;
  matchesFilter(name: string): boolean;
  getCell(key: string, run: string): FieldValue;
  getGroupColor(key: string): string | undefined;
  /** Return an entry for a run that may not be loaded. */
  makeEntry(name: string): RunEntry;
  setSelected(names: readonly string[], selected: boolean): void;
  invert(): void;
}

/** All runs with their notes; of a large log, those that are loaded. */
export class RunEntries {
  readonly #liveLog: LiveLog;
  readonly #notes: LogNotes;
  readonly #columnValues: RunColumnValues;
  #known = new Map<string, RunEntry>();
  /** Null unless the log is large. */
  list = $state.raw<RunList | null>(null);

  /** In natural order, including hidden runs. */
  readonly all = $derived.by(() => this.#update(this.#liveLog.runs, this.#notes.runs));
  readonly byName = $derived.by(() => new Map(this.all.map((entry) => [entry.name, entry])));
  readonly newestFirst = $derived.by(() =>
    [...this.all].sort((a, b) => (b.start ?? -Infinity) - (a.start ?? -Infinity) || 0),
  );
  /** The folder that all runs are in, with a slash; the table shows it once. */
  readonly commonFolder = $derived.by(() =>
    this.isLarge
      ? (this.list?.commonFolder ?? '')
      : findCommonFolder(this.all.map(({ name }) => name)),
  );

  /** Number of runs by folder. */
  readonly #folderSizes = $derived.by(() => countFolders(this.all.map(({ name }) => name)));
  /** Whether runs differ in their folder, and one of the folders has several. */
  readonly hasFolders = $derived.by(
    () => !this.isLarge && [...this.#folderSizes.keys()].some((folder) => this.#isShown(folder)),
  );

  constructor(liveLog: LiveLog, notes: LogNotes, columnValues: RunColumnValues) {
    this.#liveLog = liveLog;
    this.#notes = notes;
    this.#columnValues = columnValues;
  }

  /** The number of runs of the log. */
  get count(): number {
    return this.#liveLog.totals.runs;
  }

  get isLarge(): boolean {
    return this.#liveLog.isLarge;
  }

  /** Return the label of a run without the folder that all runs are in. */
  getShortLabel({ name, label }: RunEntry): string {
    return label === name ? name.slice(this.commonFolder.length) : label;
  }

  /** Return the folder of a run, with its slash, if other runs are in it but not all. */
  findFolder({ name }: RunEntry): string | null {
    const folder = getFolder(name);
    return this.#isShown(folder) ? folder : null;
  }

  #isShown(folder: string): boolean {
    return (this.#folderSizes.get(folder) ?? 0) > 1 && folder !== this.commonFolder;
  }

  /** Return the label of a run below the row of its folder. */
  getLabelInFolder(run: RunEntry): string {
    const folder = this.findFolder(run);
    return folder === null || run.label !== run.name
      ? this.getShortLabel(run)
      : run.name.slice(folder.length);
  }

  /** Unchanged runs keep their entry, so that nothing that depends on it is computed again. */
  #update(rows: readonly RunRow[], notes: Readonly<Record<string, RunNote>>): RunEntry[] {
    const entries = rows.map((row) => {
      const note = notes[row.name] ?? EMPTY_NOTE;
      const known = this.#known.get(row.name);
      return known && known.row === row && known.userNote === note
        ? known
        : new RunEntry(row, note, this.#columnValues);
    });
    this.#known = new Map(entries.map((entry) => [entry.name, entry]));
    return entries;
  }
}

/** The column that the table is sorted by. */
interface SortOrder {
  readonly key: string;
  readonly descending: boolean;
}

const BY_NAME: SortOrder = { key: 'name', descending: false };

const NEWEST_FIRST: SortOrder = { key: 'start', descending: true };

/** null is the default order. */
const sortingCodec: Codec<SortOrder | null> = {
  parse: (text) => ({ key: text.replace(/^-/, '') || 'name', descending: text.startsWith('-') }),
  format: (order) => (order ? `${order.descending ? '-' : ''}${order.key}` : ''),
};

/** The order of the runs in the table. */
export class RunOrder {
  readonly #entries: RunEntries;
  readonly #sorting: Param<SortOrder | null>;

  /**
   * By default, a log of which only the newest runs are selected has these at the top. Derived, so
   * that a new run is not a new order.
   */
  readonly sorting: SortOrder = $derived.by(() => {
    const hasAllSelected = this.#entries.count <= MAX_AUTO_SELECTED;
    return this.#sorting.value ?? (hasAllSelected ? BY_NAME : NEWEST_FIRST);
  });

  /** All runs. Filtering keeps the order, so that a keystroke in the filter sorts nothing. */
  readonly sorted: readonly RunEntry[] = $derived.by(() => {
    const { key, descending } = this.sorting;
    const { all } = this.#entries;
    if (key === 'name') return descending ? all.toReversed() : all;
    return sortByValue(all, (entry) => entry.getValue(key), descending);
  });

  constructor(url: UrlState, entries: RunEntries) {
    this.#entries = entries;
    this.#sorting = url.param('sort', sortingCodec, null);
  }

  /** Sort by a column, or reverse the order if it is sorted by it. */
  sortBy(key: string): void {
    const { sorting } = this;
    const descending = key === sorting.key ? !sorting.descending : isDescendingByDefault(key);
    this.setSorting({ key, descending });
  }

  setSorting(sorting: SortOrder): void {
    this.#sorting.set(sorting);
  }
}

/** The largest metric and the newest run come first, but the smallest hyperparameter. */
function isDescendingByDefault(key: string): boolean {
  return /^(last|max):/.test(key) || ['start', 'duration', 'points', 'tags'].includes(key);
}
