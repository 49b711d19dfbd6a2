import type { RunEntry } from './entries.svelte';
import { filter } from './filter.svelte';
import { type FoundGroup, groups } from './groups.svelte';
import { order } from './order.svelte';

/** What a line of the table is: a run, or the head of a group. */
export type TableRow = RunEntry | FoundGroup;

class RunTable {
  readonly rows: readonly TableRow[] = $derived.by(() => {
    if (groups.keys === null) return filter.found;
    return groups.found.flatMap((group): TableRow[] =>
      groups.isFolded(group.key) ? [group] : [group, ...group.members],
    );
  });

  /** Another object whenever a user has arranged the lines in another way. */
  readonly arrangement: object = $derived({
    by: [order.sorting, groups.grouping, groups.folded, filter.mode, filter.text],
    hiddenToo: filter.showsHidden,
  });
}

export const table = new RunTable();
