import type { QueryAsk, ViewAsk } from '../../api/scalars';
import type { Span } from '../../charts/types';

/** One chart on the screen. */
export interface Want {
  readonly id: string;
  readonly tags: readonly string[];
  /** What is seen of it; null: everything. */
  readonly seen: Span | null;
  /** In pixels. */
  readonly width: number;
}

/** What is on the screen, as often as it is there. */
export class Wants<Item> {
  readonly #items = new Map<object, Item>();

  /** Returns how to take the item out again. */
  add(item: Item): () => void {
    const token = {};
    this.#items.set(token, item);
    return () => void this.#items.delete(token);
  }

  get all(): Item[] {
    return [...this.#items.values()];
  }

  clear(): void {
    this.#items.clear();
  }
}

/** Widths are rounded up, so that a resized page need not ask at every pixel. */
const WIDTH_STEP = 100;
/** How much is asked for at either side of what is seen, so that lines reach the edges. */
const MARGIN = 0.25;

/** What the answer is kept under: that for a part beside that for the whole. */
export function keyOf({ id, seen }: Pick<Want, 'id' | 'seen'>): string {
  return seen === null ? id : `${id}\npart`;
}

export function roundUp(width: number): number {
  return Math.ceil(width / WIDTH_STEP) * WIDTH_STEP;
}

/** Those that can be asked for together, the widest first. */
export function pickBatch(wants: readonly Want[], most: number): Want[] {
  const width = Math.max(0, ...wants.map(({ width }) => roundUp(width)));
  const alike = wants.filter((want) => roundUp(want.width) === width);
  return [...new Map(alike.map((want) => [keyOf(want), want])).values()].slice(0, most);
}

export function makeQuery(view: ViewAsk, wants: readonly Want[]): QueryAsk {
  const charts = wants.map((want) => {
    const [start, stop] = want.seen ? widen(want.seen) : [null, null];
    return { id: keyOf(want), tags: want.tags, start, stop };
  });
  const width = roundUp(wants[0]?.width ?? 0);
  // As many columns as pixels have to be left for what is seen.
  const isPart = wants.some(({ seen }) => seen !== null);
  return { ...view, width: isPart ? Math.ceil(width * (1 + 2 * MARGIN)) : width, charts };
}

function widen([start, stop]: Span): Span {
  const margin = (stop - start) * MARGIN;
  return [start - margin, stop + margin];
}

/** Smoothing is what a slider changes; anything else makes an answer under way worthless. */
export function differsInData(one: ViewAsk, other: ViewAsk): boolean {
  const plain = (view: ViewAsk): string => JSON.stringify({ ...view, smoothing: null });
  return plain(one) !== plain(other);
}

export function overlap(one: Span, other: Span): boolean {
  return one[0] <= other[1] && other[0] <= one[1];
}

export function byKey<Value>(
  wants: readonly Want[],
  valueOf: (want: Want) => Value,
): ReadonlyMap<string, Value> {
  return new Map(wants.map((want) => [keyOf(want), valueOf(want)]));
}

export function idsOf(wants: readonly Want[]): ReadonlySet<string> {
  return new Set(wants.map(({ id }) => id));
}
