/** Keyboard navigation in menus and lists of options. */

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
