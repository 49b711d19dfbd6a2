/** Return the previous list if the new one has the same items. */
export function reuseIfEqual<Item>(before: readonly Item[], now: readonly Item[]): readonly Item[] {
  return before.length === now.length && before.every((item, at) => item === now[at])
    ? before
    : now;
}

/**
 * Keeps the identity of objects that are created again with equal properties, so that derived state
 * that depends on them is not recomputed.
 */
export class IdentityCache<Item extends object> {
  readonly #keyOf: (item: Item) => string;
  #items: ReadonlyMap<string, Item> = new Map();

  constructor(keyOf: (item: Item) => string) {
    this.#keyOf = keyOf;
  }

  get(key: string): Item | undefined {
    return this.#items.get(key);
  }

  update(items: readonly Item[]): ReadonlyMap<string, Item> {
    this.#items = new Map(
      items.map((item) => {
        const key = this.#keyOf(item);
        const before = this.#items.get(key);
        return [key, before && isShallowEqual(before, item) ? before : item];
      }),
    );
    return this.#items;
  }
}

function isShallowEqual<Item extends object>(one: Item, other: Item): boolean {
  return (Object.keys(other) as (keyof Item)[]).every((key) => one[key] === other[key]);
}

/** An LRU cache with a limit on the total size of its items, in any unit. */
export class LruCache<Item> {
  readonly #items = new Map<string, { readonly item: Item; readonly size: number }>();
  readonly #limit: number;
  readonly #onEvict: (item: Item) => void;
  #totalSize = 0;

  constructor(limit: number, onEvict: (item: Item) => void = () => undefined) {
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#totalSize;
  }

  get(key: string): Item | undefined {
    const found = this.#items.get(key);
    if (!found) return undefined;
    this.#items.delete(key);
    this.#items.set(key, found);
    return found.item;
  }

  set(key: string, item: Item, size: number): void {
    this.delete(key);
    this.#items.set(key, { item, size });
    this.#totalSize += size;
    // The newest item stays even if it exceeds the limit: it is in use.
    for (const oldest of this.#items.keys()) {
      if (this.#totalSize <= this.#limit || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const found = this.#items.get(key);
    if (!found) return;
    this.#items.delete(key);
    this.#totalSize -= found.size;
    this.#onEvict(found.item);
  }

  clear(): void {
    for (const key of [...this.#items.keys()]) this.delete(key);
  }
}
