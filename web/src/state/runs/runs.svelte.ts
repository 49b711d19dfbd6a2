import type { RunRow } from '../../api/schemas';
import { optionalText } from '../../lib/codecs';
import { reuseIfEqual, IdentityCache } from '../../lib/caches';
import type { Param, Preferences, RunGroup, Runs, VisibleRun } from '../../plugin/context';
import type { LiveLog } from '../live-log.svelte';
import type { LogNotes } from '../notes.svelte';
import type { RunsPanelState } from '../page-layout.svelte';
import type { PageUrl } from '../url.svelte';
import { RowSelection, RunEditing } from './row-selection.svelte';
import { RunColors } from './run-colors.svelte';
import { RunColumnValues, VisibleColumns } from './run-columns.svelte';
import { RunEntries, RunOrder } from './run-entries.svelte';
import { RunGroups, RunTable } from './run-groups.svelte';
import { RunFilter, SelectedRuns } from './visible-runs.svelte';

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
  const columnValues = new RunColumnValues();
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
  return { ...state, runs: new PageRuns(url, liveLog, state) };
}

/** The runs as dashboards see them. */
export class PageRuns implements Runs {
  readonly #liveLog: LiveLog;
  readonly #state: Omit<RunState, 'runs'>;
  readonly #baseline: Param<string | null>;
  #highlighted = $state.raw<string | null>(null);

  readonly #runCache = new IdentityCache<VisibleRun>(({ name }) => name);
  readonly #groupCache = new IdentityCache<RunGroup>(({ key }) => key);
  #previousVisible: readonly VisibleRun[] = [];
  #previousGroups: readonly RunGroup[] = [];

  /** Label, color and dash of every run, so that a keystroke in the filter computes none. */
  readonly #runsByName: ReadonlyMap<string, VisibleRun> = $derived.by(() => {
    const { runEntries, runColors, runGroups } = this.#state;
    return this.#runCache.update(
      runEntries.all.map((entry) => ({
        name: entry.name,
        label: entry.label,
        color: runColors.getColor(entry),
        dash: runColors.getDash(entry.name),
        group: runGroups.keys?.get(entry.name) ?? null,
      })),
    );
  });

  /** The same list as before if nothing visible has changed: new points are no reason to redraw. */
  readonly visible: readonly VisibleRun[] = $derived.by(() => {
    const { runGroups, runFilter, selectedRuns } = this.#state;
    const ordered = runGroups.keys
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
      runGroups.matching.map(({ key, label, members }) => {
        const names = members.map((member) => member.name).filter(isSelected);
        const runs = reuseIfEqual(this.#groupCache.get(key)?.runs ?? [], names);
        return { key, label, color: runColors.getGroupColor(key), runs };
      }),
    );
    this.#previousGroups = reuseIfEqual(this.#previousGroups, [...groups.values()]);
    return this.#previousGroups;
  });

  readonly #matchingNames: ReadonlySet<string> = $derived.by(
    () => new Set(this.#state.runFilter.matching.map(({ name }) => name)),
  );

  constructor(url: PageUrl, liveLog: LiveLog, state: Omit<RunState, 'runs'>) {
    this.#liveLog = liveLog;
    this.#state = state;
    this.#baseline = url.param('base', optionalText, null);
  }

  /** Keep the values of columns up to date; call it where effects can be created. */
  startEffects(): void {
    const { columnValues } = this.#state;
    $effect(() => columnValues.subscribe(this.#listColumnsInUse()));
    $effect(() => {
      this.#liveLog.getRevision(null);
      columnValues.refresh();
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

  find(name: string): VisibleRun | undefined {
    return this.#runsByName.get(name);
  }

  matchesFilter(name: string): boolean {
    return this.#matchingNames.has(name);
  }

  highlight(name: string | null): void {
    this.#highlighted = name;
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
