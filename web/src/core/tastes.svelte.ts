import { SvelteMap } from 'svelte/reactivity';

import type { Codec } from '../base/codec';
import type { Param, Tastes } from '../plugin/context';
import { recall, remember } from './memory';

/** What this browser remembers of its user's likings. */
class RememberedTastes implements Tastes {
  /** null where nothing is remembered; a key that nobody asked for is not there. */
  readonly #texts = new SvelteMap<string, string | null>();

  constructor() {
    // Another window of the same browser has changed something.
    addEventListener('storage', () => {
      for (const name of this.#texts.keys()) this.#texts.set(name, recall(name));
    });
  }

  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    if (!this.#texts.has(name)) this.#texts.set(name, recall(name));
    return new Taste(this, name, codec, fallback);
  }

  find(name: string): string | null {
    return this.#texts.get(name) ?? null;
  }

  put(name: string, text: string | null): void {
    this.#texts.set(name, text);
    remember(name, text);
  }
}

class Taste<Value> implements Param<Value> {
  readonly #tastes: RememberedTastes;
  readonly #name: string;
  readonly #codec: Codec<Value>;
  readonly #fallback: Value;
  readonly #text = $derived.by(() => this.#tastes.find(this.#name));
  readonly #value = $derived.by(() =>
    this.#text === null ? this.#fallback : this.#codec.parse(this.#text),
  );

  constructor(tastes: RememberedTastes, name: string, codec: Codec<Value>, fallback: Value) {
    this.#tastes = tastes;
    this.#name = name;
    this.#codec = codec;
    this.#fallback = fallback;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    const text = this.#codec.format(value);
    this.#tastes.put(this.#name, text === this.#codec.format(this.#fallback) ? null : text);
  }
}

export const tastes = new RememberedTastes();
