/** The Pareto front of trials with several objectives. */
import type { Objective } from './trials';

/**
 * Return the trials among `rows` that no other trial dominates: none is at least as good in all
 * objectives and better in one. Trials without a finite value of each objective are left out. Equal
 * trials do not dominate each other. The result is in order of the first objective, the best first.
 */
export function findParetoFront(objectives: readonly Objective[], rows: Int32Array): Int32Array {
  if (objectives.length === 0) return new Int32Array();
  // Lower is better in all of these.
  const costs = objectives.map(({ column, minimize }) =>
    minimize ? column.values : column.values.map((value) => -value),
  );
  const candidates = rows.filter((row) => costs.every((cost) => Number.isFinite(cost[row])));
  // A trial can only be dominated by one that comes before it in this order.
  candidates.sort((a, b) => {
    for (const cost of costs) {
      const order = (cost[a] ?? 0) - (cost[b] ?? 0);
      if (order !== 0) return order;
    }
    return a - b;
  });
  const front: number[] = [];
  for (const row of candidates)
    if (!front.some((other) => dominates(costs, other, row))) front.push(row);
  return Int32Array.from(front);
}

function dominates(costs: readonly Float64Array[], one: number, other: number): boolean {
  let isBetter = false;
  for (const cost of costs) {
    const difference = (cost[one] ?? 0) - (cost[other] ?? 0);
    if (difference > 0) return false;
    if (difference < 0) isBetter = true;
  }
  return isBetter;
}
