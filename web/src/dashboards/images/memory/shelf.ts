/** Holds the things used last, up to so many bytes (or whatever sizes are told in). */
export class Shelf<Thing> {
  readonly #things = new Map<string, { readonly thing: Thing; readonly size: number }>();
  readonly #limit: number;
  readonly #letGo: (thing: Thing) => void;
  #held = 0;

  constructor(limit: number, letGo: (thing: Thing) => void = () => undefined) {
    this.#limit = limit;
    this.#letGo = letGo;
  }

  get held(): number {
    return this.#held;
  }

  find(key: string): Thing | undefined {
    const found = this.#things.get(key);
    if (!found) return undefined;
    this.#things.delete(key);
    this.#things.set(key, found);
    return found.thing;
  }

  keep(key: string, thing: Thing, size: number): void {
    this.drop(key);
    this.#things.set(key, { thing, size });
    this.#held += size;
    // What came last stays even if it is larger than the shelf: somebody looks at it.
    for (const oldest of this.#things.keys()) {
      if (this.#held <= this.#limit || oldest === key) break;
      this.drop(oldest);
    }
  }

  drop(key: string): void {
    const found = this.#things.get(key);
    if (!found) return;
    this.#things.delete(key);
    this.#held -= found.size;
    this.#letGo(found.thing);
  }

  clear(): void {
    for (const key of [...this.#things.keys()]) this.drop(key);
  }
}
