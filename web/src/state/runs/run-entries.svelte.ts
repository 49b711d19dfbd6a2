import type { RunNote } from '../../api/client';
import { parseJsonNumber } from '../../api/decode';
import type { RunRow } from '../../api/schemas';
import type { Codec } from '../../lib/codecs';
import type { FieldValue, FilterSubject } from '../../lib/filter-expression';
import { sortByValue } from '../../lib/sorting';
import { liveLog } from '../live-log.svelte';
import { EMPTY_NOTE, notes } from '../notes.svelte';
import { pageUrl } from '../url.svelte';
import { columnValues } from './run-columns.svelte';

/** A run with all that the table can say about it. Another object whenever something has changed. */
export class RunEntry implements FilterSubject {
  readonly kind = 'run';
  /** Tells lines of the table apart. */
  readonly id: string;
  readonly name: string;
  /** What users call it: the alias, or the name. */
  readonly label: string;
  /** Name and alias in lower case, made once as every keystroke in the filter looks at it. */
  readonly searchText: string;
  /** Seconds since 1970. */
  readonly start: number | null;
  readonly duration_s: number | null;

  constructor(
    readonly row: RunRow,
    readonly userNote: RunNote,
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
        return columnValues.get(key, this.name);
    }
  }
}

class RunEntries {
  /** In natural order, hidden ones as well. */
  readonly all = $derived(this.#prepare(liveLog.runs, notes.runs));
  readonly byName = $derived(new Map(this.all.map((entry) => [entry.name, entry])));
  /** For the rule that ticks the newest. */
  readonly newestFirst = $derived(
    [...this.all].sort((a, b) => (b.start ?? -Infinity) - (a.start ?? -Infinity) || 0),
  );

  #known = new Map<string, RunEntry>();

  /** Runs of which nothing has changed keep their entry, so that what hangs on it stands still. */
  #prepare(rows: readonly RunRow[], said: Readonly<Record<string, RunNote>>): RunEntry[] {
    const entries = rows.map((row) => {
      const note = said[row.name] ?? EMPTY_NOTE;
      const known = this.#known.get(row.name);
      return known && known.row === row && known.userNote === note
        ? known
        : new RunEntry(row, note);
    });
    this.#known = new Map(entries.map((entry) => [entry.name, entry]));
    return entries;
  }
}

export const runEntries = new RunEntries();

/** The column by which the table is sorted. */
export interface SortOrder {
  readonly key: string;
  readonly descending: boolean;
}

const BY_NAME: SortOrder = { key: 'name', descending: false };

const sortingCodec: Codec<SortOrder> = {
  parse: (text) => ({ key: text.replace(/^-/, '') || 'name', descending: text.startsWith('-') }),
  format: ({ key, descending }) => (descending ? `-${key}` : key),
};

class RunOrder {
  readonly #sorting = pageUrl.param('sort', sortingCodec, BY_NAME);

  /** All runs; filtering them keeps the order, so that a keystroke sorts nothing. */
  readonly sorted = $derived.by(() => {
    const { key, descending } = this.sorting;
    // The server's order is that of names.
    if (key === 'name') return descending ? runEntries.all.toReversed() : runEntries.all;
    return sortByValue(runEntries.all, (entry) => entry.getValue(key), descending);
  });

  get sorting(): SortOrder {
    return this.#sorting.value;
  }

  /** Of a metric the highest is looked for first, of a name or a setting the lowest. */
  sortBy(key: string): void {
    const { sorting } = this;
    const descending = key === sorting.key ? !sorting.descending : isDescendingByDefault(key);
    this.setSorting({ key, descending });
  }

  setSorting(sorting: SortOrder): void {
    this.#sorting.set(sorting);
  }
}

function isDescendingByDefault(key: string): boolean {
  return /^(last|max):/.test(key) || ['start', 'duration', 'points', 'tags'].includes(key);
}

export const runOrder = new RunOrder();
