import type { SpreadZoom } from '../../../charts/spread/types';

/** One chart on the screen. */
export interface Want {
  readonly id: string;
  readonly tag: string;
  /** How many runs there is room for, and how many are passed over. */
  readonly runs: number;
  readonly skip: number;
  readonly zoom: SpreadZoom | null;
}

const PART = '\npart';

/** What the answer is kept under: that for a part beside that for the whole. */
export function keyOf({ id, zoom }: Pick<Want, 'id' | 'zoom'>): string {
  return zoom === null ? id : id + PART;
}

/** The card whose answer is kept under a key. */
export function idOf(key: string): string {
  return key.endsWith(PART) ? key.slice(0, -PART.length) : key;
}

/** What is on the screen, as often as it is there. */
export class Wants {
  readonly #items = new Map<object, Want>();

  /** Returns how to take it out again. */
  add(want: Want): () => void {
    const token = {};
    this.#items.set(token, want);
    return () => void this.#items.delete(token);
  }

  /** Those for which `isStale` holds and that can be asked for together, each once. */
  pick(isStale: (want: Want) => boolean, most: number): Want[] {
    const stale = new Map<string, Want>();
    for (const want of this.#items.values()) if (isStale(want)) stale.set(keyOf(want), want);
    const [first, ...rest] = stale.values();
    if (!first) return [];
    return [first, ...rest.filter((want) => isAlike(first, want))].slice(0, most);
  }

  has(id: string): boolean {
    for (const want of this.#items.values()) if (want.id === id) return true;
    return false;
  }

  clear(): void {
    this.#items.clear();
  }
}

/** What one request asks for goes for all of its charts. */
function isAlike(one: Want, other: Want): boolean {
  return one.runs === other.runs && Boolean(one.zoom?.steps) === Boolean(other.zoom?.steps);
}
