/** An item of a row that would like to be somewhere, and how much. */
export interface Wish {
  readonly at: number;
  readonly weight: number;
}

/**
 * The places nearest to what is wished, in least squares, with at least `gaps[i]` between the
 * middles of item i and the next one: the pool of adjacent violators.
 */
export function spread(wishes: readonly Wish[], gaps: readonly number[]): number[] {
  const offsets = [0];
  for (let at = 1; at < wishes.length; at++)
    offsets.push((offsets[at - 1] ?? 0) + (gaps[at - 1] ?? 0));
  const pools: { sum: number; weight: number; count: number }[] = [];
  wishes.forEach(({ at, weight }, item) => {
    let pool = { sum: (at - (offsets[item] ?? 0)) * weight, weight, count: 1 };
    for (let last = pools.at(-1); last && meanOf(last) >= meanOf(pool); last = pools.at(-1)) {
      pool = {
        sum: last.sum + pool.sum,
        weight: last.weight + pool.weight,
        count: last.count + pool.count,
      };
      pools.pop();
    }
    pools.push(pool);
  });
  const placed = pools.flatMap((pool) => new Array<number>(pool.count).fill(meanOf(pool)));
  return placed.map((place, item) => place + (offsets[item] ?? 0));
}

function meanOf({ sum, weight }: { readonly sum: number; readonly weight: number }): number {
  return sum / weight;
}
