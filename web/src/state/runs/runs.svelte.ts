import type { RunRow } from '../../api/schemas';
import { optionalText } from '../../lib/codecs';
import { reuseIfEqual, IdentityCache } from '../../lib/caches';
import type { RunGroup, Runs, VisibleRun } from '../../plugin/context';
import { pageUrl } from '../url.svelte';
import { liveLog } from '../live-log.svelte';
import { notes } from '../notes.svelte';
import { runColors } from './run-colors.svelte';
import { columnValues, visibleColumns } from './run-columns.svelte';
import { runEntries, runOrder } from './run-entries.svelte';
import { runFilter, selectedRuns } from './visible-runs.svelte';
import { runGroups } from './run-groups.svelte';

/** The runs as every dashboard sees them. */
class PageRuns implements Runs {
  readonly #baseline = pageUrl.param('base', optionalText, null);
  #highlighted = $state.raw<string | null>(null);

  readonly #looks = new IdentityCache<VisibleRun>(({ name }) => name);
  readonly #groups = new IdentityCache<RunGroup>(({ key }) => key);
  #shownBefore: readonly VisibleRun[] = [];
  #groupsBefore: readonly RunGroup[] = [];

  /** How every run is drawn, shown or not, so that a keystroke in the filter makes none anew. */
  readonly #looksByName: ReadonlyMap<string, VisibleRun> = $derived(
    this.#looks.update(
      runEntries.all.map((entry) => ({
        name: entry.name,
        label: entry.label,
        color: runColors.getColor(entry),
        dash: runColors.getDash(entry.name),
        group: runGroups.keys?.get(entry.name) ?? null,
      })),
    ),
  );

  /** The same list as before while the same is shown: new points of a run are no reason to draw. */
  readonly visible: readonly VisibleRun[] = $derived.by(() => {
    const inOrder = runGroups.keys
      ? runGroups.matching.flatMap((group) => group.members)
      : runFilter.matching;
    const { isSelected } = selectedRuns;
    const looks = this.#looksByName;
    const shown = inOrder.flatMap(({ name }) => (isSelected(name) ? (looks.get(name) ?? []) : []));
    this.#shownBefore = reuseIfEqual(this.#shownBefore, shown);
    return this.#shownBefore;
  });

  readonly groups: readonly RunGroup[] = $derived.by(() => {
    const { isSelected } = selectedRuns;
    const kept = this.#groups.update(
      runGroups.matching.map(({ key, label, members }) => {
        const names = members.map((member) => member.name).filter(isSelected);
        const runs = reuseIfEqual(this.#groups.get(key)?.runs ?? [], names);
        return { key, label, color: runColors.getGroupColor(key), runs };
      }),
    );
    this.#groupsBefore = reuseIfEqual(this.#groupsBefore, [...kept.values()]);
    return this.#groupsBefore;
  });

  readonly #found: ReadonlySet<string> = $derived(
    new Set(runFilter.matching.map(({ name }) => name)),
  );

  constructor() {
    $effect.root(() => {
      $effect(() => columnValues.subscribe(this.#columnsInUse()));
      $effect(() => {
        liveLog.getRevision(null);
        columnValues.refresh();
      });
    });
    notes.refresh();
  }

  get all(): readonly RunRow[] {
    return liveLog.runs;
  }

  get baseline(): string | null {
    return this.#baseline.value;
  }

  get highlighted(): string | null {
    return this.#highlighted;
  }

  find(name: string): VisibleRun | undefined {
    return this.#looksByName.get(name);
  }

  matchesFilter(name: string): boolean {
    return this.#found.has(name);
  }

  highlight(name: string | null): void {
    this.#highlighted = name;
  }

  solo(name: string): void {
    selectedRuns.solo([name]);
  }

  selectOnly(names: readonly string[]): void {
    selectedRuns.selectOnly(names);
  }

  setBaseline(name: string | null): void {
    this.#baseline.set(name);
  }

  #columnsInUse(): string[] {
    const { grouping } = runGroups;
    const colouring = runColors.by;
    return [
      ...visibleColumns.keys,
      runOrder.sorting.key,
      ...runFilter.columns,
      ...(grouping?.by === 'column' ? [grouping.key] : []),
      ...(colouring.by === 'column' ? [colouring.key] : []),
    ];
  }
}

export const runs = new PageRuns();
