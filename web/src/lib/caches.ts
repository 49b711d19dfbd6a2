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
export class IdentityCache<Thing extends object> {
  readonly #keyOf: (thing: Thing) => string;
  #things: ReadonlyMap<string, Thing> = new Map();

  constructor(keyOf: (thing: Thing) => string) {
    this.#keyOf = keyOf;
  }

  get(key: string): Thing | undefined {
    return this.#things.get(key);
  }

  update(things: readonly Thing[]): ReadonlyMap<string, Thing> {
    this.#things = new Map(
      things.map((thing) => {
        const key = this.#keyOf(thing);
        const before = this.#things.get(key);
        return [key, before && isShallowEqual(before, thing) ? before : thing];
      }),
    );
    return this.#things;
  }
}

function isShallowEqual<Thing extends object>(one: Thing, other: Thing): boolean {
  return (Object.keys(other) as (keyof Thing)[]).every((key) => one[key] === other[key]);
}

/** An LRU cache with a limit on the total size of its items, in any unit. */
export class LruCache<Thing> {
  readonly #things = new Map<string, { readonly thing: Thing; readonly size: number }>();
  readonly #limit: number;
  readonly #letGo: (thing: Thing) => void;
  #held = 0;

  constructor(limit: number, letGo: (thing: Thing) => void = () => undefined) {
    this.#limit = limit;
    this.#letGo = letGo;
  }

  get size(): number {
    return this.#held;
  }

  get(key: string): Thing | undefined {
    const found = this.#things.get(key);
    if (!found) return undefined;
    this.#things.delete(key);
    this.#things.set(key, found);
    return found.thing;
  }

  set(key: string, thing: Thing, size: number): void {
    this.delete(key);
    this.#things.set(key, { thing, size });
    this.#held += size;
    // The newest item stays even if it exceeds the limit: it is in use.
    for (const oldest of this.#things.keys()) {
      if (this.#held <= this.#limit || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const found = this.#things.get(key);
    if (!found) return;
    this.#things.delete(key);
    this.#held -= found.size;
    this.#letGo(found.thing);
  }

  clear(): void {
    for (const key of [...this.#things.keys()]) this.delete(key);
  }
}
