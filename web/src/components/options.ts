/** Options of Select, Segmented and Combobox. */

/** An option of Select and Segmented. */
export interface SelectOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Longer explanation, shown as a tooltip. */
  readonly title?: string;
}

/** An option of Combobox. */
export interface Option {
  readonly key: string;
  readonly label: string;
  readonly hint?: string;
  readonly title?: string;
  readonly selected?: boolean;
}

export interface OptionGroup {
  /** Empty for options without a heading. */
  readonly title: string;
  readonly options: readonly Option[];
}

/** Return the id of an option element; ids must not contain spaces. */
export function getOptionId(listId: string, key: string): string {
  return `${listId}-${encodeURIComponent(key)}`;
}

/** Return options grouped by title, both in the order of the items. */
export function groupOptions<Item>(
  items: readonly Item[],
  getTitle: (item: Item) => string,
  toOption: (item: Item) => Option,
): OptionGroup[] {
  const groups = new Map<string, Option[]>();
  for (const item of items) {
    const title = getTitle(item);
    const options = groups.get(title);
    if (options) options.push(toOption(item));
    else groups.set(title, [toOption(item)]);
  }
  return Array.from(groups, ([title, options]) => ({ title, options }));
}

/** Return the first `limit` options whose label contains all words, and how many more there are. */
export function findOptions(
  groups: readonly OptionGroup[],
  text: string,
  limit: number,
): { readonly groups: readonly OptionGroup[]; readonly left: number } {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found: OptionGroup[] = [];
  let free = limit;
  let left = 0;
  for (const { title, options } of groups) {
    const matching = options.filter(({ label }) => containsAll(label.toLowerCase(), words));
    const taken = matching.slice(0, free);
    if (taken.length > 0) found.push({ title, options: taken });
    free -= taken.length;
    left += matching.length - taken.length;
  }
  return { groups: found, left };
}

function containsAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}
