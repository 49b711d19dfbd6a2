import type { CurveRow } from '../../../api/pr-curves';
import type { RunSteps } from '../../../api/values';

/** A curve on the screen: the one that `place` names, which is that of `step`. */
export interface CurveWant {
  readonly steps: RunSteps;
  readonly place: number;
  /** As the server is asked for it; null: the last. */
  readonly step: number | null;
}

/** What no other curve is kept under. */
export function keyOf(steps: RunSteps, place: number): string;
export function keyOf(row: CurveRow): string;
export function keyOf(of: RunSteps | CurveRow, place = 0): string {
  const { run, tag, index, mark } = of;
  const value = typeof index === 'number' ? index : index[place];
  return `${run}\n${tag}\n${value}\n${typeof mark === 'number' ? mark : mark[place]}`;
}

/** Those that one request can ask for, each once; those of the most cards first. */
export function groupByStep(wants: readonly CurveWant[]): CurveWant[][] {
  const groups = new Map<number | null, Map<string, CurveWant>>();
  for (const want of wants) {
    const group = groups.get(want.step) ?? new Map<string, CurveWant>();
    group.set(keyOf(want.steps, want.place), want);
    groups.set(want.step, group);
  }
  const sorted = [...groups.values()].sort((one, other) => other.size - one.size);
  return sorted.map((group) => [...group.values()]);
}

/** What is on the screen, as often as it is there. */
export class Wants<Item> {
  readonly #items = new Map<object, readonly Item[]>();

  /** Returns how to take the items out again. */
  add(items: readonly Item[]): () => void {
    const token = {};
    this.#items.set(token, items);
    return () => void this.#items.delete(token);
  }

  get all(): Item[] {
    return [...this.#items.values()].flat();
  }

  clear(): void {
    this.#items.clear();
  }
}

/** What is remembered of curves besides themselves. */
export class Memory {
  /** What was last seen of each run and tag: shown until what is wanted instead has come. */
  readonly latest = new Map<string, CurveRow>();
  /** Those that were asked for in vain. */
  readonly missing = new Set<string>();
}

export function keysOf(wants: readonly CurveWant[]): ReadonlySet<string> {
  return new Set(wants.map(({ steps, place }) => keyOf(steps, place)));
}

export function unique<Item>(items: readonly Item[]): Item[] {
  return [...new Set(items)];
}
