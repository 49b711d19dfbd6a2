/** Counts who wants which things, and knows which of them are still to be fetched. */
export class Demand {
  readonly #wanted = new Map<string, number>();
  readonly #fresh = new Set<string>();

  /** Wants a thing until the function that it returns is called. */
  want(thing: string): () => void {
    this.#wanted.set(thing, (this.#wanted.get(thing) ?? 0) + 1);
    return () => {
      const left = (this.#wanted.get(thing) ?? 1) - 1;
      if (left > 0) this.#wanted.set(thing, left);
      else this.#wanted.delete(thing);
    };
  }

  missing(): string[] {
    return [...this.#wanted.keys()].filter((thing) => !this.#fresh.has(thing));
  }

  markFresh(things: Iterable<string>): void {
    for (const thing of things) this.#fresh.add(thing);
  }

  markStale(): void {
    this.#fresh.clear();
  }
}
