import type { RunNote } from '../../api/client';
import { parseJsonNumber } from '../../api/transport';
import type { GroupQuery, RunRow } from '../../api/schemas';
import type { Codec } from '../../lib/codecs';
import type { FieldValue, FilterSubject } from '../../lib/filter-expression';
import { MAX_AUTO_SELECTED } from '../../lib/run-selection';
import { sortByValue } from '../../lib/sorting';
import type { SampleStats } from '../../lib/statistics';
import type { Param, RunSet, UrlState } from '../../plugin/context';
import type { LiveLog } from '../live-log.svelte';
import { EMPTY_NOTE, type LogNotes } from '../notes.svelte';
import type { RunColumnValues } from './run-columns.svelte';
import { countFolders, findCommonFolder, getFolder } from '../../lib/grouping';

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
export interface SortOrder {
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
