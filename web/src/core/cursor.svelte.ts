import { optionalNumber, range } from '../base/codec';
import type { Cursor, XAxis } from '../plugin/context';
import { address } from './address.svelte';

/** Where the pointer is, for all charts; what is pinned is a part of the address. */
class LinkedCursor implements Cursor {
  hover = $state.raw<Cursor['hover']>(null);
  readonly #pinned = address.param('at', optionalNumber, null);
  readonly #range = address.param('range', range, null);

  get pinned(): number | null {
    return this.#pinned.value;
  }

  get range(): readonly [number, number] | null {
    return this.#range.value;
  }

  hoverAt(x: number | null, axis: XAxis, from: string): void {
    // A chart that is left late must not take away the hover of the next one.
    if (x !== null) this.hover = { x, axis, from };
    else if (this.hover?.from === from) this.hover = null;
  }

  pin(x: number | null): void {
    this.#pinned.set(x);
  }

  select(range: readonly [number, number] | null): void {
    this.#range.set(range);
  }
}

export const cursor = new LinkedCursor();
