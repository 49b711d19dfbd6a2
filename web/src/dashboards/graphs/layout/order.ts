import { countCrossings } from './crossings';
import type { Rows } from './rows';

const MOST_SWEEPS = 16;
/** Sweeps that better nothing, one after another, before it is let be. */
const PATIENCE = 4;
/** Items beyond which fewer sweeps have to do. */
const MANY = 4000;

/** The items of each row from left to right, with few links that cross. */
export function orderRows(rows: Rows): number[][] {
  let order = walkDown(rows);
  let [best, fewest] = [order, countCrossings(order, rows)];
  const sweeps = rows.rowOf.length > MANY ? 4 : MOST_SWEEPS;
  for (let sweep = 0, idle = 0; sweep < sweeps && idle < PATIENCE && fewest > 0; sweep++) {
    order = sweep % 2 === 0 ? sweepDown(order, rows) : sweepUp(order, rows);
    const crossings = countCrossings(order, rows);
    idle = crossings < fewest ? 0 : idle + 1;
    if (crossings < fewest) [best, fewest] = [order, crossings];
  }
  return best;
}

/** In the order of a walk along the links, which keeps together what belongs together. */
function walkDown({ rows, rowOf, below, above }: Rows): number[][] {
  const order: number[][] = rows.map(() => []);
  const isSeen = new Uint8Array(rowOf.length);
  for (let start = 0; start < rowOf.length; start++) {
    const waiting = above[start]?.length === 0 ? [start] : [];
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
      if (isSeen[item]) continue;
      isSeen[item] = 1;
      order[rowOf[item] ?? 0]?.push(item);
      for (const next of [...(below[item] ?? [])].reverse()) if (!isSeen[next]) waiting.push(next);
    }
  }
  return order;
}

function sweepDown(order: readonly (readonly number[])[], { above }: Rows): number[][] {
  const sorted: number[][] = [];
  order.forEach((row, at) => sorted.push(sortBy(row, sorted[at - 1] ?? [], above)));
  return sorted;
}

function sweepUp(order: readonly (readonly number[])[], { below }: Rows): number[][] {
  const sorted: number[][] = [];
  [...order].reverse().forEach((row, at) => sorted.push(sortBy(row, sorted[at - 1] ?? [], below)));
  return sorted.reverse();
}

/** Items go to the mean of their neighbours in the row before; one without any stays in its place. */
function sortBy(
  row: readonly number[],
  before: readonly number[],
  neighbours: Rows['above'],
): number[] {
  const places = new Map(before.map((item, place) => [item, place]));
  const wanted = new Map<number, number>();
  for (const item of row) {
    const found = (neighbours[item] ?? []).flatMap((other) => places.get(other) ?? []);
    if (found.length > 0) wanted.set(item, found.reduce((sum, at) => sum + at, 0) / found.length);
  }
  const moving = row
    .filter((item) => wanted.has(item))
    .sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
  let next = 0;
  return row.map((item) => (wanted.has(item) ? (moving[next++] ?? item) : item));
}
