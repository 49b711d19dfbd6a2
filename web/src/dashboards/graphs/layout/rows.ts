import type { Link } from './types';

/**
 * The rows of a level with bends in them where a link passes a row. All links of one node share
 * their bends, so that a tensor read in a hundred places is one line with a hundred branches.
 */
export interface Rows {
  /** How many of the items are nodes; the others are bends. */
  readonly nodes: number;
  readonly rowOf: Int32Array;
  readonly rows: readonly (readonly number[])[];
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
  /** How far right of its upper item the lower item of a join stands where the line is straight. */
  readonly skew: ReadonlyMap<string, number>;
  /** The bends of each link, from its upper end. */
  readonly bends: readonly (readonly number[])[];
}

/** Beyond so many bends long links lead straight on, as the picture could not be read anyhow. */
const MOST_BENDS = 12_000;

/** `links` all lead down, but those in `alone` share no bends with others. */
export function buildRows(
  ranks: Int32Array,
  links: readonly Link[],
  alone: ReadonlySet<number>,
): Rows {
  const builder = new Builder(ranks);
  const bends = links.map((link, place) => builder.add(link, alone.has(place)));
  return builder.finish(bends);
}

export const joinKey = (upper: number, lower: number): string => `${upper} ${lower}`;

class Builder {
  readonly #nodes: number;
  readonly #rowOf: number[];
  readonly #above: number[][];
  readonly #below: number[][];
  readonly #chains = new Map<number, number[]>();
  readonly #joined = new Set<string>();
  readonly #skew = new Map<string, number>();

  constructor(ranks: Int32Array) {
    this.#nodes = ranks.length;
    this.#rowOf = [...ranks];
    this.#above = this.#rowOf.map(() => []);
    this.#below = this.#rowOf.map(() => []);
  }

  add({ source, target, sourceOffset = 0, targetOffset = 0 }: Link, isAlone: boolean): number[] {
    if (source === target) return [];
    const needed = this.#row(target) - this.#row(source) - 1;
    if (this.#rowOf.length - this.#nodes + needed > MOST_BENDS) return [];
    const chain = isAlone ? [] : (this.#chains.get(source) ?? []);
    if (!isAlone) this.#chains.set(source, chain);
    while (chain.length < needed) chain.push(this.#bend(chain.at(-1) ?? source, sourceOffset));
    const bends = chain.slice(0, Math.max(0, needed));
    const last = bends.at(-1);
    this.#join(last ?? source, target, last === undefined ? sourceOffset : 0, targetOffset);
    return bends;
  }

  finish(bends: readonly (readonly number[])[]): Rows {
    const count = this.#rowOf.reduce((most, row) => Math.max(most, row), -1) + 1;
    const rows: number[][] = Array.from({ length: count }, () => []);
    this.#rowOf.forEach((row, item) => rows[row]?.push(item));
    const [nodes, rowOf] = [this.#nodes, Int32Array.from(this.#rowOf)];
    const [above, below, skew] = [this.#above, this.#below, this.#skew];
    return { nodes, rowOf, rows, above, below, skew, bends };
  }

  #row(item: number): number {
    return this.#rowOf[item] ?? 0;
  }

  #bend(above: number, offset: number): number {
    const bend = this.#rowOf.length;
    this.#rowOf.push(this.#row(above) + 1);
    this.#above.push([]);
    this.#below.push([]);
    this.#join(above, bend, above < this.#nodes ? offset : 0, 0);
    return bend;
  }

  #join(upper: number, lower: number, upperOffset: number, lowerOffset: number): void {
    const key = joinKey(upper, lower);
    if (this.#joined.has(key)) return;
    this.#joined.add(key);
    if (upperOffset !== lowerOffset) this.#skew.set(key, upperOffset - lowerOffset);
    this.#below[upper]?.push(lower);
    this.#above[lower]?.push(upper);
  }
}
