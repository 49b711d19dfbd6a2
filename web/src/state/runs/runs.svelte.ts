import type { GroupQuery, RunRow, RunTotals } from '../../api/schemas';
import { optionalText } from '../../lib/codecs';
import { reuseIfEqual, IdentityCache } from '../../lib/caches';
import type { Param, Preferences, RunGroup, Runs, RunSet, VisibleRun } from '../../plugin/context';
import type { LiveLog } from '../live-log.svelte';
import type { LogNotes } from '../notes.svelte';
import type { RunsPanelState } from '../preferences.svelte';
import type { PageUrl } from '../url.svelte';
import { RunColors, RunGroups, RunTable } from './run-groups.svelte';
import {
  RunColumnValues,
  RunEntries,
  type RunEntry,
  RunOrder,
  type TableRow,
  VisibleColumns,
} from './run-entries.svelte';
import { RunFilter, SelectedRuns } from './visible-runs.svelte';

const ALL_RUNS: GroupQuery = { filter: '', show_hidden: false };

/** The state of the run table: which runs there are, how they are arranged and which are shown. */
export interface RunState {
  readonly columnValues: RunColumnValues;
  readonly visibleColumns: VisibleColumns;
  readonly runEntries: RunEntries;
  readonly runOrder: RunOrder;
  readonly runFilter: RunFilter;
  readonly selectedRuns: SelectedRuns;
  readonly runGroups: RunGroups;
  readonly runTable: RunTable;
  readonly runColors: RunColors;
  readonly rowSelection: RowSelection;
  readonly runEditing: RunEditing;
  readonly runs: PageRuns;
}

export function createRunState(
  url: PageUrl,
  preferences: Preferences,
  panel: RunsPanelState,
  liveLog: LiveLog,
  notes: LogNotes,
): RunState {
  const columnValues = new RunColumnValues(liveLog.queries);
  const runEntries = new RunEntries(liveLog, notes, columnValues);
  const runOrder = new RunOrder(url, runEntries);
  const runFilter = new RunFilter(url, runEntries, runOrder, columnValues);
  const runGroups = new RunGroups(url, runEntries, runOrder, runFilter);
  const runTable = new RunTable(runEntries, runOrder, runFilter, runGroups);
  const state = {
    columnValues,
    visibleColumns: new VisibleColumns(url, preferences, panel, columnValues, runEntries),
    runEntries,
    runOrder,
    runFilter,
    selectedRuns: new SelectedRuns(url, runEntries, runFilter),
    runGroups,
    runTable,
    runColors: new RunColors(url, runEntries, runGroups),
    rowSelection: new RowSelection(runTable),
    runEditing: new RunEditing(),
  };
  return { ...state, runs: new PageRuns(url, liveLog, notes, state) };
}

/** The runs as dashboards see them. */
export class PageRuns implements Runs {
  readonly #liveLog: LiveLog;
  readonly #notes: LogNotes;
  readonly #state: Omit<RunState, 'runs'>;
  readonly #baseline: Param<string | null>;
  #highlighted = $state.raw<string | null>(null);
  #drawnColors = $state.raw<ReadonlyMap<string, string> | null>(null);

  readonly #runCache = new IdentityCache<VisibleRun>(({ name }) => name);
  readonly #groupCache = new IdentityCache<RunGroup>(({ key }) => key);
  #previousVisible: readonly VisibleRun[] = [];
  #previousGroups: readonly RunGroup[] = [];

  /** Label, color and dash of every run, so that a keystroke in the filter computes none. */
  readonly #runsByName: ReadonlyMap<string, VisibleRun> = $derived.by(() => {
    return this.#runCache.update(this.#state.runEntries.all.map((entry) => this.#describe(entry)));
  });

  /** The same list as before if nothing visible has changed: new points are no reason to redraw. */
  readonly visible: readonly VisibleRun[] = $derived.by(() => {
    const { runEntries, runGroups, runFilter, selectedRuns } = this.#state;
    const isGrouped = runGroups.keys !== null && !runEntries.list;
    const ordered = isGrouped
      ? runGroups.matching.flatMap((group) => group.members)
      : runFilter.matching;
    const { isSelected } = selectedRuns;
    const runs = this.#runsByName;
    const visible = ordered.flatMap(({ name }) => (isSelected(name) ? (runs.get(name) ?? []) : []));
    this.#previousVisible = reuseIfEqual(this.#previousVisible, visible);
    return this.#previousVisible;
  });

  readonly groups: readonly RunGroup[] = $derived.by(() => {
    const { runGroups, runColors, selectedRuns } = this.#state;
    const { isSelected } = selectedRuns;
    const groups = this.#groupCache.update(
      runGroups.matching.map(({ key, label, members, all }) => {
        const names = members.map((member) => member.name).filter(isSelected);
        const runs = reuseIfEqual(this.#groupCache.get(key)?.runs ?? [], names);
        const color = runColors.getGroupColor(key);
        return { key, label, color, runs, ...(all ? { all } : {}) };
      }),
    );
    this.#previousGroups = reuseIfEqual(this.#previousGroups, [...groups.values()]);
    return this.#previousGroups;
  });

  readonly #matchingNames: ReadonlySet<string> = $derived.by(
    () => new Set(this.#state.runFilter.matching.map(({ name }) => name)),
  );

  constructor(url: PageUrl, liveLog: LiveLog, notes: LogNotes, state: Omit<RunState, 'runs'>) {
    this.#liveLog = liveLog;
    this.#notes = notes;
    this.#state = state;
    this.#baseline = url.param('baseline', optionalText, null);
  }

  /** Keep the values of columns up to date; call it where effects can be created. */
  startEffects(): void {
    const { columnValues } = this.#state;
    const liveLog = this.#liveLog;
    columnValues.start();
    $effect(() => {
      // The list of a large log has the values of its rows.
      const isNeeded = liveLog.isStarted && !liveLog.isLarge;
      columnValues.subscribe(isNeeded ? this.#listColumnsInUse() : []);
    });
    $effect(() => {
      if (!liveLog.isLarge) return;
      const loading = import('./paged-run-list.svelte').then(({ startRunList }) =>
        startRunList(liveLog, this.#notes, this.#state),
      );
      return () => void loading.then((stop) => stop());
    });
  }

  get all(): readonly RunRow[] {
    return this.#liveLog.runs;
  }

  get baseline(): string | null {
    return this.#baseline.value;
  }

  get highlighted(): string | null {
    return this.#highlighted;
  }

  get selection(): RunSet | null {
    return this.#state.runEntries.list?.selection ?? null;
  }

  get matching(): GroupQuery | null | undefined {
    const { isStarted, isLarge } = this.#liveLog;
    if (!isLarge) return isStarted ? null : undefined;
    return this.#state.runEntries.list?.matching ?? ALL_RUNS;
  }

  get totals(): RunTotals {
    return this.#liveLog.totals;
  }

  find(name: string): VisibleRun | undefined {
    const { list } = this.#state.runEntries;
    const known = this.#runsByName.get(name);
    return known ?? (list ? this.#describe(list.makeEntry(name)) : undefined);
  }

  matchesFilter(name: string): boolean {
    return this.#state.runEntries.list?.matchesFilter(name) ?? this.#matchingNames.has(name);
  }

  highlight(name: string | null): void {
    this.#highlighted = name;
  }

  overrideColors(colors: ReadonlyMap<string, string>): () => void {
    this.#drawnColors = colors;
    return () => {
      if (this.#drawnColors === colors) this.#drawnColors = null;
    };
  }

  /** Return the color in which a run is drawn. */
  getDrawnColor(name: string): string | undefined {
    return this.#drawnColors?.get(name) ?? this.#runsByName.get(name)?.color;
  }

  /** Return the color in which all of these runs are drawn; undefined if there are several. */
  findSharedColor(names: readonly string[]): string | undefined {
    const [first] = names;
    const color = first === undefined ? undefined : this.getDrawnColor(first);
    return names.every((name) => this.getDrawnColor(name) === color) ? color : undefined;
  }

  solo(name: string): void {
    this.#state.selectedRuns.solo([name]);
  }

  selectOnly(names: readonly string[]): void {
    this.#state.selectedRuns.selectOnly(names);
  }

  setBaseline(name: string | null): void {
    this.#baseline.set(name);
  }

  #describe(entry: RunEntry): VisibleRun {
    const { runColors, runGroups } = this.#state;
    return {
      name: entry.name,
      label: entry.label,
      color: runColors.getColor(entry),
      dash: runColors.getDash(entry.name),
      group: runGroups.keys?.get(entry.name) ?? null,
    };
  }

  #listColumnsInUse(): string[] {
    const { visibleColumns, runOrder, runFilter, runGroups, runColors } = this.#state;
    const { grouping } = runGroups;
    const colorBy = runColors.by;
    return [
      ...visibleColumns.selected,
      runOrder.sorting.key,
      ...runFilter.columns,
      ...(grouping?.by === 'column' ? [grouping.key] : []),
      ...(colorBy.by === 'column' ? [colorBy.key] : []),
    ];
  }
}

/** The table row that has the keyboard focus, and the rows that an action applies to. */
export class RowSelection {
  readonly #table: RunTable;
  #activeId = $state.raw<string | null>(null);
  /** The row at which a range selected with the shift key begins. */
  #anchorId: string | null = null;
  #selectedIds = $state.raw<ReadonlySet<string>>(new Set());

  /** Index of the focused row; -1 if there is none or the filter excludes it. */
  readonly activeIndex: number = $derived.by(() => this.#indexOf(this.#activeId));

  constructor(table: RunTable) {
    this.#table = table;
  }

  get activeRow(): TableRow | undefined {
    return this.#table.rows[this.activeIndex];
  }

  isSelected(row: TableRow): boolean {
    return this.#selectedIds.has(row.id);
  }

  /** Return the runs that an action on `row` applies to: all selected ones if it is one of them. */
  namesFor(row: TableRow): string[] {
    if (!this.isSelected(row)) return listNames([row]);
    return listNames(this.#table.rows.filter((row) => row && this.isSelected(row)));
  }

  moveTo(index: number, mode: 'replace' | 'toggle' | 'range' = 'replace'): void {
    const row = this.#table.rows[index];
    if (!row) return this.#table.load(index);
    if (mode === 'range') {
      this.#selectedIds = new Set(this.#rowsInRangeTo(index).flatMap((row) => row?.id ?? []));
    } else {
      this.#anchorId = row.id;
      this.#selectedIds = new Set(mode === 'toggle' ? this.#toggle(row.id) : [row.id]);
    }
    this.#activeId = row.id;
  }

  selectAll(): void {
    this.#selectedIds = new Set(this.#table.rows.flatMap((row) => row?.id ?? []));
  }

  clear(): void {
    this.#selectedIds = new Set();
  }

  /** Return the names of the runs from the start of the range to `index`. */
  namesInRangeTo(index: number): string[] {
    return listNames(this.#rowsInRangeTo(index));
  }

  #rowsInRangeTo(index: number): readonly (TableRow | undefined)[] {
    const anchor = this.#indexOf(this.#anchorId);
    const from = anchor < 0 ? index : anchor;
    return this.#table.rows.slice(Math.min(from, index), Math.max(from, index) + 1);
  }

  #indexOf(id: string | null): number {
    return id === null ? -1 : this.#table.rows.findIndex((row) => row?.id === id);
  }

  #toggle(id: string): string[] {
    const ids = [...this.#selectedIds];
    return ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id];
  }
}

/** A header row represents the runs below it, unless these are in the list themselves. */
function listNames(rows: readonly (TableRow | undefined)[]): string[] {
  const ids = new Set(rows.map((row) => row?.id));
  const names = rows.flatMap((row) => {
    if (row?.kind !== 'group') return row?.name ?? [];
    const [first] = row.members;
    return first && ids.has(first.id) ? [] : row.names;
  });
  return [...new Set(names)];
}

/** The runs that are being edited. */
export class RunEditing {
  /** The run that is renamed in the table. */
  renaming = $state.raw<string | null>(null);
  /** The runs whose note, tags and color are edited in the dialog. */
  editing = $state.raw<readonly string[] | null>(null);
}
