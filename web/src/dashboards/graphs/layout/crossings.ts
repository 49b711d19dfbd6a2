import type { Rows } from './rows';

/** How many pairs of links cross between neighbouring rows. */
export function countCrossings(order: readonly (readonly number[])[], { below }: Rows): number {
  let crossings = 0;
  for (let at = 0; at + 1 < order.length; at++)
    crossings += countBetween(order[at] ?? [], order[at + 1] ?? [], below);
  return crossings;
}

/** Counts in a tree of sums over the lower row, so that ten thousand links take no time. */
function countBetween(
  upper: readonly number[],
  lower: readonly number[],
  below: Rows['below'],
): number {
  const places = new Map(lower.map((item, place) => [item, place]));
  const sums = new Int32Array(lower.length + 1);
  let [crossings, added] = [0, 0];
  for (const item of upper) {
    const targets = (below[item] ?? []).flatMap((other) => places.get(other) ?? []);
    for (const place of targets) crossings += added - sumUpTo(sums, place);
    for (const place of targets) add(sums, place);
    added += targets.length;
  }
  return crossings;
}

/** Fenwick's tree: each entry holds the sum of a stretch whose length is its lowest bit. */
function add(sums: Int32Array, place: number): void {
  for (let at = place + 1; at < sums.length; at += at & -at) sums[at] = (sums[at] ?? 0) + 1;
}

function sumUpTo(sums: Int32Array, place: number): number {
  let sum = 0;
  for (let at = place + 1; at > 0; at -= at & -at) sum += sums[at] ?? 0;
  return sum;
}
