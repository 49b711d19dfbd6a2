import { list } from '../../lib/codecs';
import { formatValue } from '../../lib/format';
import {
  getPathPart,
  groupBy,
  type Grouping,
  groupingCodec,
  matchCapture,
} from '../../lib/grouping';
import { sortByValue, sortNatural } from '../../lib/sorting';
import { computeStats, type SampleStats } from '../../lib/statistics';
import { pageUrl } from '../url.svelte';
import { runEntries, type RunEntry, runOrder } from './run-entries.svelte';
import { runFilter } from './visible-runs.svelte';

/** Runs of one group that pass the filter. */
export interface RunGroupRow {
  readonly kind: 'group';
  /** Tells lines of the table apart. */
  readonly id: string;
  /** Empty for those that belong to none. */
  readonly key: string;
  readonly label: string;
  readonly members: readonly RunEntry[];
  /** Of the column by which the table is sorted, if that has numbers. */
  readonly stats: SampleStats | null;
}

type KeyOf = (entry: RunEntry) => string | null;

class RunGroups {
  readonly #grouping = pageUrl.param('group', groupingCodec, null);
  readonly #folded = pageUrl.param('folds', list, []);

  /** The key of every run, whether it passes the filter or not; null while nothing is grouped. */
  readonly keys: ReadonlyMap<string, string> | null = $derived.by(() => {
    const { grouping } = this;
    if (grouping === null) return null;
    const keyOf = makeKeyReader(grouping);
    return new Map(runEntries.all.map((entry) => [entry.name, keyOf(entry) ?? '']));
  });

  /** Keys in natural order; their place gives a group its colour, so the filter has no say in it. */
  readonly sortedKeys = $derived(
    this.keys === null ? [] : sortNatural(new Set(this.keys.values()), (key) => key),
  );

  readonly matching: readonly RunGroupRow[] = $derived.by(() => {
    const { keys } = this;
    if (keys === null) return [];
    const buckets = groupBy(runFilter.matching, ({ name }) => keys.get(name) || null);
    const groups = buckets.map(({ key, items }) => this.#describe(key ?? '', items));
    const { descending, key } = runOrder.sorting;
    if (key === 'name') return descending ? groups.toReversed() : groups;
    return sortByValue(groups, (group) => group.stats?.mean ?? null, descending);
  });

  get grouping(): Grouping | null {
    return this.#grouping.value;
  }

  groupBy(grouping: Grouping | null): void {
    this.#folded.set([]);
    this.#grouping.set(grouping, 'push');
  }

  /** Keys of the groups whose runs are folded away. */
  get collapsedKeys(): readonly string[] {
    return this.#folded.value;
  }

  isCollapsed(key: string): boolean {
    return this.collapsedKeys.includes(key);
  }

  setCollapsed(key: string, folded: boolean): void {
    const others = this.collapsedKeys.filter((other) => other !== key);
    this.#folded.set(folded ? [...others, key] : others);
  }

  setAllCollapsed(folded: boolean): void {
    this.#folded.set(folded ? this.sortedKeys : []);
  }

  #describe(key: string, members: readonly RunEntry[]): RunGroupRow {
    const { key: column } = runOrder.sorting;
    const spread = column === 'name' ? null : computeStats(iterNumbers(members, column));
    return {
      kind: 'group',
      id: `group:${key}`,
      key,
      label: key || 'other runs',
      members,
      stats: spread,
    };
  }
}

function* iterNumbers(members: readonly RunEntry[], column: string): Iterable<number> {
  for (const member of members) {
    const value = member.getValue(column);
    if (typeof value === 'number') yield value;
  }
}

function makeKeyReader(grouping: Grouping): KeyOf {
  switch (grouping.by) {
    case 'path':
      return ({ name }) => getPathPart(name, grouping.part);
    case 'label':
      return ({ userNote }) => userNote.labels.join(', ') || null;
    case 'regex':
      return makeCaptureReader(grouping.pattern);
    case 'column':
      return (entry) => {
        const value = entry.getValue(grouping.key);
        return typeof value === 'number'
          ? formatValue(value)
          : value === null
            ? null
            : String(value);
      };
  }
}

function makeCaptureReader(text: string): KeyOf {
  try {
    const pattern = new RegExp(text);
    return ({ name }) => matchCapture(pattern, name);
  } catch {
    // The box in which it is typed says what is wrong with it.
    return () => null;
  }
}

export const runGroups = new RunGroups();

/** What a line of the table is: a run, or the head of a group. */
export type TableRow = RunEntry | RunGroupRow;

class RunTable {
  readonly rows: readonly TableRow[] = $derived.by(() => {
    if (runGroups.keys === null) return runFilter.matching;
    return runGroups.matching.flatMap((group): TableRow[] =>
      runGroups.isCollapsed(group.key) ? [group] : [group, ...group.members],
    );
  });

  /** Another object whenever a user has arranged the lines in another way. */
  readonly arrangement: object = $derived({
    by: [
      runOrder.sorting,
      runGroups.grouping,
      runGroups.collapsedKeys,
      runFilter.mode,
      runFilter.text,
    ],
    hiddenToo: runFilter.showsHidden,
  });
}

export const runTable = new RunTable();
