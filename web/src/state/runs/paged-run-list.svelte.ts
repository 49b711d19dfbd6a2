/** The runs of a large log: the server filters, sorts, groups and counts, the page loads some. */
import { untrack } from 'svelte';

import { createQuery, type Query, QueryMap } from '../../api/create-query.svelte';
import { defineQuery } from '../../api/query-definition';
import type {
  Cell,
  GroupQuery,
  RunListGroup,
  RunListRequest,
  RunListResponse,
  RunListRow,
  RunRow,
  RunSelection,
  RunTotals,
} from '../../api/schemas';
import * as common from '../../catalog/common';
import type { FieldValue } from '../../lib/filter-expression';
import { formatValue } from '../../lib/format';
import { groupBy, groupingCodec } from '../../lib/grouping';
import { RUN_COLORS } from '../../lib/run-colors';
import {
  countNewest,
  makeSelection,
  MAX_AUTO_SELECTED,
  type SelectionState,
} from '../../lib/run-selection';
import type { RunSet } from '../../plugin/context';
import type { LiveLog } from '../live-log.svelte';
import { EMPTY_NOTE, type LogNotes } from '../notes.svelte';
import {
  type RunColumnValues,
  type RunEntries,
  RunEntry,
  type RunGroupRow,
  type RunList,
  type RunOrder,
  type TableRow,
  type VisibleColumns,
} from './run-entries.svelte';
import type { RunColors, RunGroups } from './run-groups.svelte';
import type { RunFilter, SelectedRuns } from './visible-runs.svelte';

const PAGE_ROWS = 200;
/** Pages of rows that are kept up to date: those on the screen and the last ones before. */
const MAX_PAGES = 4;
const REFRESH_MS = 2000;
/** The server is still adding the last change of a large log. */
const UPDATING_POLL_MS = 1000;
/** Columns that the server computes; others are part of a run or its notes. */
const SERVER_COLUMN = /^(hparam|last|min|max):/;
/** Marks the name of a group in a selection: the name of no run begins with it. */
const GROUP_MARK = '/';
const NO_ROWS: readonly RunListRow[] = [];

const runListQuery = defineQuery('POST runs/list', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
  poll: ({ updating }) => (updating ? UPDATING_POLL_MS : null),
});

const runNamesQuery = defineQuery('POST runs/names', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
  select: ({ names }) => new Set(names),
  maxCost: 2,
});

/** The parts of the run table that the list follows, and those that read from it. */
interface State {
  readonly columnValues: RunColumnValues;
  readonly visibleColumns: VisibleColumns;
  readonly runEntries: RunEntries;
  readonly runOrder: RunOrder;
  readonly runFilter: RunFilter;
  readonly selectedRuns: SelectedRuns;
  readonly runGroups: RunGroups;
  readonly runColors: RunColors;
}

/** Load the runs of a large log while the page needs them; return a function that ends it. */
export function startRunList(liveLog: LiveLog, notes: LogNotes, state: State): () => void {
  const stop = $effect.root(() => {
    const list = new PagedRunList(liveLog, notes, state);
    liveLog.loaded = list;
    state.runEntries.list = list;
    state.columnValues.list = list;
  });
  return () => {
    liveLog.loaded = state.runEntries.list = state.columnValues.list = null;
    stop();
  };
}

class PagedRunList implements RunList {
  readonly #liveLog: LiveLog;
  readonly #state: State;
  readonly #notes: LogNotes;
  readonly #pages: QueryMap<RunListRequest, RunListResponse>;
  readonly #selected: Query<RunListResponse>;
  readonly #matchingNames: Query<ReadonlySet<string>>;
  #pageNumbers = $state.raw<readonly number[]>([0]);
  #subscriptions = new Map<number, () => void>();
  #needsNames = $state(false);
  /** Used while the text of the filter is invalid. */
  #lastFilter = '';
  #runSets = new Map<string, RunSet>();

  readonly query: GroupQuery = $derived.by(() => {
    const { runFilter, runOrder, runGroups, selectedRuns } = this.#state;
    if (runFilter.syntaxError === null)
      this.#lastFilter = makeExpression(runFilter.mode, runFilter.text);
    const { key, descending } = runOrder.sorting;
    return {
      filter: this.#lastFilter,
      show_hidden: runFilter.showsHidden,
      sort: [descending ? `-${key}` : key],
      group_by: makeGroupKey(groupingCodec.format(runGroups.grouping)),
      selection: makeSelectionRequest(selectedRuns.selection.value),
    };
  });
  readonly #columns: readonly string[] = $derived.by(() => {
    const { visibleColumns, runColors } = this.#state;
    const { by } = runColors;
    const keys = [...visibleColumns.selected, ...(by.by === 'column' ? [by.key] : [])];
    return [...new Set(keys)].filter((key) => SERVER_COLUMN.test(key));
  });

  readonly #first: RunListResponse | undefined = $derived.by(() => this.#pages.get('0')?.data);
  readonly #responses: readonly RunListResponse[] = $derived.by(() =>
    [this.#selected, ...this.#pageNumbers.map((number) => this.#pages.get(String(number)))].flatMap(
      (query) => query?.data ?? [],
    ),
  );
  readonly #loadedRows: ReadonlyMap<string, RunListRow> = $derived.by(() => {
    const rows = this.#responses.flatMap((response) => response.rows);
    return new Map(rows.flatMap((row) => (row.run ? [[row.run.name, row]] : [])));
  });
  readonly #cells: ReadonlyMap<string, ReadonlyMap<string, Cell>> = $derived.by(() => {
    const cells = new Map<string, Map<string, Cell>>();
    for (const { columns, rows } of this.#responses) {
      columns.forEach((key, at) => {
        const column = cells.get(key) ?? new Map<string, Cell>();
        cells.set(key, column);
        for (const row of rows) if (row.run) column.set(row.run.name, row.cells[at] ?? null);
      });
    }
    return cells;
  });
  readonly #groupPositions: ReadonlyMap<string, number> = $derived.by(
    () => new Map(this.#listGroups().map(({ key, position }) => [key, position])),
  );

  readonly runs: readonly RunRow[] = $derived.by(() =>
    [...this.#loadedRows.values()].flatMap(({ run }) => run ?? []),
  );
  readonly totals: RunTotals | undefined = $derived.by(
    () => (this.#first ?? this.#selected.data)?.totals,
  );
  readonly groupKeys: ReadonlyMap<string, string> = $derived.by(
    () => new Map(Array.from(this.#loadedRows, ([name, { key }]) => [name, key ?? ''])),
  );
  readonly visible: readonly RunEntry[] = $derived.by(() =>
    (this.#selected.data?.rows ?? NO_ROWS).flatMap(
      ({ run }) => (run && this.#state.runEntries.byName.get(run.name)) ?? [],
    ),
  );
  readonly groups: readonly RunGroupRow[] = $derived.by(() => {
    const members = groupBy(this.visible, ({ name }) => this.groupKeys.get(name) ?? '');
    const membersByKey = new Map(members.map(({ key, items }) => [key, items]));
    const groups = this.#selected.data?.groups ?? [];
    return groups.map((group) => this.#makeGroupRow(group, membersByKey.get(group.key) ?? []));
  });
  readonly selection: RunSet | null = $derived.by(() => {
    const data = this.#selected.data;
    if (!data) return null;
    const splits = [...new Set(data.groups.flatMap((group) => group.splits))];
    return this.#reuseRunSet('all', { query: this.query, count: data.selected, splits });
  });
  readonly matching: GroupQuery = $derived.by(() => {
    const { filter = '', show_hidden = false } = this.query;
    return { filter, show_hidden };
  });
  readonly rows: readonly (TableRow | undefined)[] = $derived.by(() => {
    const total = this.#first?.total ?? 0;
    const rows = new Array<TableRow | undefined>(total);
    for (const number of this.#pageNumbers) {
      const page = this.#pages.get(String(number))?.data?.rows ?? NO_ROWS;
      page.slice(0, Math.max(0, total - number * PAGE_ROWS)).forEach((row, at) => {
        rows[number * PAGE_ROWS + at] = this.#makeRow(row);
      });
    }
    return rows;
  });

  constructor(liveLog: LiveLog, notes: LogNotes, state: State) {
    const { queries } = liveLog;
    this.#liveLog = liveLog;
    this.#state = state;
    this.#notes = notes;
    this.#pages = new QueryMap(queries, runListQuery, (number) => ({
      ...this.query,
      columns: this.#columns,
      expanded: state.runGroups.collapsedKeys,
      offset: Number(number) * PAGE_ROWS,
      limit: PAGE_ROWS,
    }));
    this.#selected = createQuery(queries, runListQuery, () => ({
      ...this.query,
      columns: this.#columns,
      selected_only: true,
      limit: MAX_AUTO_SELECTED,
    }));
    this.#matchingNames = createQuery(queries, runNamesQuery, () =>
      this.#needsNames
        ? { filter: this.query.filter ?? '', show_hidden: this.query.show_hidden ?? false }
        : null,
    );
    $effect(() => {
      const numbers = this.#pageNumbers;
      untrack(() => this.#subscribe(numbers));
    });
    $effect(() => () => untrack(() => this.#subscribe([])));
    let isFirst = true;
    $effect(() => {
      void notes.runs;
      if (!isFirst) queries.invalidate(runListQuery);
      isFirst = false;
    });
  }

  get counts(): RunList['counts'] {
    const { matched, selected = 0, hidden = 0 } = this.#selected.data ?? {};
    return { matched: matched ?? this.#liveLog.totals.runs, selected, hidden };
  }

  get commonFolder(): string {
    return this.#first?.common_folder ?? '';
  }

  get error(): string | null {
    return this.#selected.error?.problem.message ?? null;
  }

  load(index: number): void {
    const number = Math.floor(index / PAGE_ROWS);
    const known = untrack(() => this.#pageNumbers);
    if (known.includes(number)) return;
    // The first page tells the number of rows.
    const others = known.filter((other) => other !== 0).slice(-(MAX_PAGES - 2));
    this.#pageNumbers = [0, ...others, number];
  }

  isSelectedByRule(name: string): boolean {
    return this.#loadedRows.get(name)?.selected ?? false;
  }

  /** All run names are loaded only if a dashboard asks for runs that are not loaded. */
  matchesFilter(name: string): boolean {
    if (this.counts.matched === this.#liveLog.totals.runs) return true;
    if (!this.#needsNames) queueMicrotask(() => (this.#needsNames = true));
    return this.#matchingNames.data?.has(name) ?? true;
  }

  getCell(key: string, run: string): FieldValue {
    const cell = this.#cells.get(key)?.get(run) ?? null;
    return cell === 'NaN' || cell === 'Infinity' || cell === '-Infinity' ? Number(cell) : cell;
  }

  getGroupColor(key: string): string | undefined {
    const position = key === '' ? undefined : this.#groupPositions.get(key);
    return position === undefined ? undefined : RUN_COLORS[position % RUN_COLORS.length];
  }

  makeEntry(name: string): RunEntry {
    const row = { name, start_wall: null, last_wall: null, files: 0, bytes: 0, tags: 0, points: 0 };
    const note = this.#notes.runs[name] ?? EMPTY_NOTE;
    return new RunEntry({ ...row, damaged: 0 }, note, this.#state.columnValues);
  }

  setSelected(names: readonly string[], selected: boolean): void {
    const { selection } = this.#state.selectedRuns;
    const { rule, on, off } = selection.value;
    const groups = new Set(names.filter((name) => name.startsWith(GROUP_MARK)));
    // A group takes its runs along.
    const isKept = (name: string): boolean =>
      !groups.has(GROUP_MARK + (this.groupKeys.get(name) ?? ''));
    const lists = { on: new Set([...on].filter(isKept)), off: new Set([...off].filter(isKept)) };
    for (const name of names) {
      lists.on.delete(name);
      lists.off.delete(name);
      const isException = groups.has(name)
        ? rule !== (selected ? 'all' : 'none')
        : this.isSelectedByRule(name) !== selected;
      if (isException) lists[selected ? 'on' : 'off'].add(name);
    }
    selection.set(makeSelection(rule, lists.on, lists.off));
  }

  invert(): void {
    const { selection } = this.#state.selectedRuns;
    const { rule, on, off } = selection.value;
    if (rule === 'all' || rule === 'none')
      selection.set(makeSelection(rule === 'all' ? 'none' : 'all', off, on));
    else
      selection.set(
        makeSelection(
          'all',
          [],
          this.visible.map(({ name }) => name),
        ),
      );
  }

  #subscribe(numbers: readonly number[]): void {
    const next = new Map(
      numbers.map((number) => [
        number,
        this.#subscriptions.get(number) ?? this.#pages.subscribe(String(number)),
      ]),
    );
    for (const [number, stop] of this.#subscriptions) if (!next.has(number)) stop();
    this.#subscriptions = next;
  }

  #listGroups(): RunListGroup[] {
    return this.#responses.flatMap(({ groups, rows }) => [
      ...groups,
      ...rows.flatMap(({ group }) => group ?? []),
    ]);
  }

  #makeRow({ run, group }: RunListRow): TableRow | undefined {
    if (group)
      return this.#makeGroupRow(
        group,
        this.groups.find(({ key }) => key === group.key)?.members ?? [],
      );
    return run ? this.#state.runEntries.byName.get(run.name) : undefined;
  }

  #makeGroupRow(group: RunListGroup, members: readonly RunEntry[]): RunGroupRow {
    const { key, value, runs, selected, splits, count, mean, std } = group;
    const id = `group:${key}`;
    return {
      kind: 'group',
      id,
      key,
      label: typeof value === 'number' ? formatValue(value) : key || common.other,
      members,
      names: [GROUP_MARK + key],
      stats: mean === null ? null : { count, mean, std: std ?? NaN },
      counts: { runs, selected },
      all: this.#reuseRunSet(id, {
        query: { ...this.query, group: key },
        count: selected,
        splits,
      }),
    };
  }

  /** Return the same object as before if it is equal, so that charts do not change. */
  #reuseRunSet(id: string, set: RunSet): RunSet {
    const before = this.#runSets.get(id);
    if (before && JSON.stringify(before) === JSON.stringify(set)) return before;
    this.#runSets.set(id, set);
    return set;
  }
}

/** Write a filter of words or a regular expression as an expression of the server. */
export function makeExpression(mode: 'text' | 'regex' | 'expression', text: string): string {
  if (text.trim() === '' || mode === 'expression') return text;
  if (mode === 'text') return text.split(/\s+/).filter(Boolean).map(quote).join(' ');
  const pattern = `"${text.replace(/\\?"/g, '\\x22')}"`;
  return ['name', 'alias'].map((field) => `${field} ~ ${pattern}`).join(' or ');
}

function quote(word: string): string {
  return `"${word.replaceAll('"', '\\"')}"`;
}

/** Labels are grouped by the column of that name; other groupings have the same keys. */
function makeGroupKey(text: string): string {
  return text === 'label' ? 'labels' : text;
}

export function makeSelectionRequest({ rule, on, off }: SelectionState): RunSelection {
  const lists = { on: [...on], off: [...off] };
  if (rule === 'all') return { newest: null, ...lists };
  if (rule !== 'auto') return { newest: countNewest(rule, Infinity), ...lists };
  return { newest: countNewest(rule, Infinity), all_up_to: MAX_AUTO_SELECTED, ...lists };
}
