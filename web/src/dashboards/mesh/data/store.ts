/** Holds the things used last, up to so many bytes; one that is larger by itself is not held. */
export class Store<Thing> {
  readonly #limitBytes: number;
  readonly #sizeOf: (thing: Thing) => number;
  readonly #things = new Map<string, Thing>();
  #heldBytes = 0;

  constructor(limitBytes: number, sizeOf: (thing: Thing) => number) {
    this.#limitBytes = limitBytes;
    this.#sizeOf = sizeOf;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  find(key: string): Thing | undefined {
    const thing = this.#things.get(key);
    if (thing !== undefined) {
      this.#things.delete(key);
      this.#things.set(key, thing);
    }
    return thing;
  }

  keep(key: string, thing: Thing): void {
    this.#drop(key);
    if (this.#sizeOf(thing) > this.#limitBytes) return;
    this.#things.set(key, thing);
    this.#heldBytes += this.#sizeOf(thing);
    for (const oldest of this.#things.keys()) {
      if (this.#heldBytes <= this.#limitBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const thing = this.#things.get(key);
    if (thing === undefined) return;
    this.#things.delete(key);
    this.#heldBytes -= this.#sizeOf(thing);
  }
}
