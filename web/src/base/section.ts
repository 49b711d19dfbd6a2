import { compareNatural } from './natural';

export interface Section<Item> {
  readonly title: string;
  readonly items: readonly Item[];
}

/** Where tags that share no prefix with another go. */
export const UNGROUPED = 'other';

/** Groups items by the prefix of their tag; both sections and items come in natural order. */
export function groupByPrefix<Item extends { readonly tag: string }>(
  items: readonly Item[],
): Section<Item>[] {
  const stems = countStems(items);
  const sections = new Map<string, Item[]>();
  for (const item of [...items].sort((a, b) => compareNatural(a.tag, b.tag))) {
    const title = titleOf(item.tag, stems);
    const section = sections.get(title);
    if (section) section.push(item);
    else sections.set(title, [item]);
  }
  return [...sections]
    .map(([title, items]) => ({ title, items }))
    .sort((a, b) => Number(isRest(a)) - Number(isRest(b)) || compareNatural(a.title, b.title));
}

function isRest(section: Section<unknown>): boolean {
  return section.title === UNGROUPED;
}

function titleOf(tag: string, stems: ReadonlyMap<string, number>): string {
  const slash = tag.indexOf('/');
  if (slash > 0) return tag.slice(0, slash);
  const stem = stemOf(tag);
  return (stems.get(stem) ?? 0) > 1 ? stem : UNGROUPED;
}

/** Tags without a slash, such as epoch_loss and epoch_accuracy, may share what is before `_`. */
function countStems(items: readonly { readonly tag: string }[]): Map<string, number> {
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
