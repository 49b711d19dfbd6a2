import type { RunRow } from '../../api/types';
import { optionalText } from '../../base/codec';
import { keepIfSame, Kept } from '../../base/keep';
import type { RunGroup, Runs, ShownRun } from '../../plugin/context';
import { address } from '../address.svelte';
import { board } from '../board.svelte';
import { notes } from '../notes.svelte';
import { colours } from './colours.svelte';
import { columns } from './columns.svelte';
import { entries } from './entries.svelte';
import { filter } from './filter.svelte';
import { groups } from './groups.svelte';
import { order } from './order.svelte';
import { selection } from './selection.svelte';
import { shownColumns } from './shown-columns.svelte';

/** The runs as every dashboard sees them. */
class PageRuns implements Runs {
  readonly #baseline = address.param('base', optionalText, null);
  #highlighted = $state.raw<string | null>(null);

  readonly #looks = new Kept<ShownRun>(({ name }) => name);
  readonly #groups = new Kept<RunGroup>(({ key }) => key);
  #shownBefore: readonly ShownRun[] = [];
  #groupsBefore: readonly RunGroup[] = [];

  /** How every run is drawn, shown or not, so that a keystroke in the filter makes none anew. */
  readonly #looksByName: ReadonlyMap<string, ShownRun> = $derived(
    this.#looks.keep(
      entries.all.map((entry) => ({
        name: entry.name,
        label: entry.label,
        colour: colours.colourOf(entry),
        dash: colours.dashOf(entry.name),
        group: groups.keys?.get(entry.name) ?? null,
      })),
    ),
  );

  /** The same list as before while the same is shown: new points of a run are no reason to draw. */
  readonly shown: readonly ShownRun[] = $derived.by(() => {
    const inOrder = groups.keys ? groups.found.flatMap((group) => group.members) : filter.found;
    const { isTicked } = selection;
    const looks = this.#looksByName;
    const shown = inOrder.flatMap(({ name }) => (isTicked(name) ? (looks.get(name) ?? []) : []));
    this.#shownBefore = keepIfSame(this.#shownBefore, shown);
    return this.#shownBefore;
  });

  readonly groups: readonly RunGroup[] = $derived.by(() => {
    const { isTicked } = selection;
    const kept = this.#groups.keep(
      groups.found.map(({ key, label, members }) => {
        const names = members.map((member) => member.name).filter(isTicked);
        const runs = keepIfSame(this.#groups.find(key)?.runs ?? [], names);
        return { key, label, colour: colours.colourOfGroup(key), runs };
      }),
    );
    this.#groupsBefore = keepIfSame(this.#groupsBefore, [...kept.values()]);
    return this.#groupsBefore;
  });

  readonly #found: ReadonlySet<string> = $derived(new Set(filter.found.map(({ name }) => name)));

  constructor() {
    $effect.root(() => {
      $effect(() => columns.want(this.#columnsInUse()));
      $effect(() => {
        board.revisionOf(null);
        columns.refresh();
      });
    });
    notes.refresh();
  }

  get all(): readonly RunRow[] {
    return board.runs;
  }

  get baseline(): string | null {
    return this.#baseline.value;
  }

  get highlighted(): string | null {
    return this.#highlighted;
  }

  find(name: string): ShownRun | undefined {
    return this.#looksByName.get(name);
  }

  isFound(name: string): boolean {
    return this.#found.has(name);
  }

  highlight(name: string | null): void {
    this.#highlighted = name;
  }

  solo(name: string): void {
    selection.solo([name]);
  }

  showOnly(names: readonly string[]): void {
    selection.showOnly(names);
  }

  setBaseline(name: string | null): void {
    this.#baseline.set(name);
  }

  #columnsInUse(): string[] {
    const { grouping } = groups;
    const colouring = colours.by;
    return [
      ...shownColumns.keys,
      order.sorting.key,
      ...filter.columns,
      ...(grouping?.by === 'column' ? [grouping.key] : []),
      ...(colouring.by === 'column' ? [colouring.key] : []),
    ];
  }
}

export const runs = new PageRuns();
