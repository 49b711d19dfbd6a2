import { list } from '../../base/codec';
import { formatValue } from '../../base/format';
import { captureOf, type Grouping, groupingCodec, partOf, putTogether } from '../../base/grouping';
import { sortNatural } from '../../base/natural';
import { orderBy } from '../../base/order';
import { type Spread, spreadOf } from '../../base/statistics';
import { address } from '../address.svelte';
import { entries, type RunEntry } from './entries.svelte';
import { filter } from './filter.svelte';
import { order } from './order.svelte';

/** Runs of one group that pass the filter. */
export interface FoundGroup {
  readonly kind: 'group';
  /** Tells lines of the table apart. */
  readonly id: string;
  /** Empty for those that belong to none. */
  readonly key: string;
  readonly label: string;
  readonly members: readonly RunEntry[];
  /** Of the column by which the table is sorted, if that has numbers. */
  readonly spread: Spread | null;
}

type KeyOf = (entry: RunEntry) => string | null;

class Groups {
  readonly #grouping = address.param('group', groupingCodec, null);
  readonly #folded = address.param('folds', list, []);

  /** The key of every run, whether it passes the filter or not; null while nothing is grouped. */
  readonly keys: ReadonlyMap<string, string> | null = $derived.by(() => {
    const { grouping } = this;
    if (grouping === null) return null;
    const keyOf = readerOf(grouping);
    return new Map(entries.all.map((entry) => [entry.name, keyOf(entry) ?? '']));
  });

  /** Keys in natural order; their place gives a group its colour, so the filter has no say in it. */
  readonly inOrder = $derived(
    this.keys === null ? [] : sortNatural(new Set(this.keys.values()), (key) => key),
  );

  readonly found: readonly FoundGroup[] = $derived.by(() => {
    const { keys } = this;
    if (keys === null) return [];
    const buckets = putTogether(filter.found, ({ name }) => keys.get(name) || null);
    const groups = buckets.map(({ key, items }) => this.#describe(key ?? '', items));
    const { descending, key } = order.sorting;
    if (key === 'name') return descending ? groups.toReversed() : groups;
    return orderBy(groups, (group) => group.spread?.mean ?? null, descending);
  });

  get grouping(): Grouping | null {
    return this.#grouping.value;
  }

  groupBy(grouping: Grouping | null): void {
    this.#folded.set([]);
    this.#grouping.set(grouping, 'push');
  }

  /** Keys of the groups whose runs are folded away. */
  get folded(): readonly string[] {
    return this.#folded.value;
  }

  isFolded(key: string): boolean {
    return this.folded.includes(key);
  }

  fold(key: string, folded: boolean): void {
    const others = this.folded.filter((other) => other !== key);
    this.#folded.set(folded ? [...others, key] : others);
  }

  foldAll(folded: boolean): void {
    this.#folded.set(folded ? this.inOrder : []);
  }

  #describe(key: string, members: readonly RunEntry[]): FoundGroup {
    const { key: column } = order.sorting;
    const spread = column === 'name' ? null : spreadOf(numbersOf(members, column));
    return { kind: 'group', id: `group:${key}`, key, label: key || 'other runs', members, spread };
  }
}

function* numbersOf(members: readonly RunEntry[], column: string): Iterable<number> {
  for (const member of members) {
    const value = member.valueOf(column);
    if (typeof value === 'number') yield value;
  }
}

function readerOf(grouping: Grouping): KeyOf {
  switch (grouping.by) {
    case 'path':
      return ({ name }) => partOf(name, grouping.part);
    case 'label':
      return ({ said }) => said.labels.join(', ') || null;
    case 'regex':
      return readCaptures(grouping.pattern);
    case 'column':
      return (entry) => {
        const value = entry.valueOf(grouping.key);
        return typeof value === 'number'
          ? formatValue(value)
          : value === null
            ? null
            : String(value);
      };
  }
}

function readCaptures(text: string): KeyOf {
  try {
    const pattern = new RegExp(text);
    return ({ name }) => captureOf(pattern, name);
  } catch {
    // The box in which it is typed says what is wrong with it.
    return () => null;
  }
}

export const groups = new Groups();
