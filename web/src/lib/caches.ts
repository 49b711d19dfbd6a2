/** The list from before if the new one has the very same items. */
export function reuseIfEqual<Item>(before: readonly Item[], now: readonly Item[]): readonly Item[] {
  return before.length === now.length && before.every((item, at) => item === now[at])
    ? before
    : now;
}

/**
 * Things that are made anew all the time. One that has not changed stays the same object, so that who
 * looks at it can tell.
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

/** Holds the things used last, up to so many bytes (or whatever sizes are told in). */
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
    // What came last stays even if it is larger than the shelf: somebody looks at it.
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
