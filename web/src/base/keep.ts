/** The list from before if the new one has the very same items. */
export function keepIfSame<Item>(before: readonly Item[], now: readonly Item[]): readonly Item[] {
  return before.length === now.length && before.every((item, at) => item === now[at])
    ? before
    : now;
}

/**
 * Things that are made anew all the time. One that has not changed stays the same object, so that who
 * looks at it can tell.
 */
export class Kept<Thing extends object> {
  readonly #keyOf: (thing: Thing) => string;
  #things: ReadonlyMap<string, Thing> = new Map();

  constructor(keyOf: (thing: Thing) => string) {
    this.#keyOf = keyOf;
  }

  find(key: string): Thing | undefined {
    return this.#things.get(key);
  }

  keep(things: readonly Thing[]): ReadonlyMap<string, Thing> {
    this.#things = new Map(
      things.map((thing) => {
        const key = this.#keyOf(thing);
        const before = this.#things.get(key);
        return [key, before && hasSameFields(before, thing) ? before : thing];
      }),
    );
    return this.#things;
  }
}

function hasSameFields<Thing extends object>(one: Thing, other: Thing): boolean {
  return (Object.keys(other) as (keyof Thing)[]).every((key) => one[key] === other[key]);
}
