import { sortNatural } from './natural';

export interface Section<Item> {
  /** The prefix that the tags share; empty for those that share none. */
  readonly title: string;
  readonly items: readonly Item[];
}

interface Tagged {
  readonly tag: string;
}

/** Tags in natural order, those meant for machines (`_hparams_`) last. */
export function sortTags<Item extends Tagged>(items: Iterable<Item>): Item[] {
  return sortNatural(items, ({ tag }) => tag).sort((a, b) => rank(a.tag) - rank(b.tag));
}

/**
 * Groups sorted items by the prefix of their tag. Tags without a prefix come first, as they are
 * mostly what a run is about.
 */
export function groupByPrefix<Item extends Tagged>(items: readonly Item[]): Section<Item>[] {
  const stems = countStems(items);
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const title = titleOf(item.tag, stems);
    const group = groups.get(title);
    if (group) group.push(item);
    else groups.set(title, [item]);
  }
  const sections = Array.from(groups, ([title, items]) => ({ title, items }));
  return sortNatural(sections, ({ title }) => title).sort((a, b) => rank(a.title) - rank(b.title));
}

function rank(name: string): number {
  return name === '' ? 0 : name.startsWith('_') ? 2 : 1;
}

function titleOf(tag: string, stems: ReadonlyMap<string, number>): string {
  const slash = tag.indexOf('/');
  if (slash > 0) return tag.slice(0, slash);
  const stem = stemOf(tag);
  return (stems.get(stem) ?? 0) > 1 ? stem : '';
}

/** Tags without a slash, such as epoch_loss and epoch_accuracy, may share what is before `_`. */
function countStems(items: readonly Tagged[]): Map<string, number> {
  const stems = new Map<string, number>();
  for (const { tag } of items) {
    if (tag.includes('/')) continue;
    const stem = stemOf(tag);
    if (stem) stems.set(stem, (stems.get(stem) ?? 0) + 1);
  }
  return stems;
}

function stemOf(tag: string): string {
  const end = tag.search(/[_.: ]/);
  return end > 0 ? tag.slice(0, end) : '';
}
