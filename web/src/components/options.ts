/** Options of Select, Segmented and Combobox, and keyboard navigation in menus and lists of options. */

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

const PAGE_ITEMS = 10;
const TYPEAHEAD_RESET_MS = 700;

/**
 * Return the index that a key moves to in a vertical list of `count` items, or null if the key does
 * not navigate or the list is empty. An index of -1 means that no item is active.
 */
export function moveIndex(key: string, index: number, count: number): number | null {
  if (count === 0) return null;
  switch (key) {
    case 'ArrowDown':
      return (index + 1) % count;
    case 'ArrowUp':
      return index <= 0 ? count - 1 : index - 1;
    case 'PageDown':
      return Math.min(count - 1, index + PAGE_ITEMS);
    case 'PageUp':
      return Math.max(0, index - PAGE_ITEMS);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}

/** Finds items by the first letters of their labels, typed one after another. */
export class Typeahead {
  #typed = '';
  #lastTime = -Infinity;

  /**
   * Return the index of the item to move to, or null if no label matches. A repeated letter goes
   * through the items that start with it.
   */
  find(key: string, labels: readonly string[], index: number, now: number): number | null {
    if (key.length !== 1) return null;
    const isContinued = now - this.#lastTime < TYPEAHEAD_RESET_MS;
    if (key === ' ' && !isContinued) return null;
    this.#typed = isContinued ? this.#typed + key.toLowerCase() : key.toLowerCase();
    this.#lastTime = now;
    const isRepeated = [...this.#typed].every((letter) => letter === this.#typed[0]);
    const wanted = isRepeated ? (this.#typed[0] ?? '') : this.#typed;
    const start = isRepeated ? index + 1 : Math.max(0, index);
    for (let offset = 0; offset < labels.length; offset++) {
      const candidate = (start + offset) % labels.length;
      if (labels[candidate]?.trim().toLowerCase().startsWith(wanted)) return candidate;
    }
    return null;
  }
}
