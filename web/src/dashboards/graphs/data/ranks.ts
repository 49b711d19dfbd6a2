import { BODY } from './convert';
import type { GraphNode } from './model';

/** Some operations of a graph, or of one body, by where they stand in the order of all. */
export interface Ranks {
  /** Up to which part of a path they are in one body; empty for the graph itself. */
  readonly body: string;
  readonly first: ArrayLike<number>;
  readonly last: ArrayLike<number>;
}

/** In which body something is. */
export function bodyOf(path: string): string {
  return path.slice(0, path.lastIndexOf(BODY) + 1);
}

/** Whether any of the operations are the node, or are in it. */
export function holds(ranks: Ranks, node: GraphNode): boolean {
  if (bodyOf(node.id) === ranks.body) return overlaps(ranks, node.first, node.last);
  return ranks.body.startsWith(`${node.id}${BODY}`) || node.bodies.includes(ranks.body);
}

/** Ranges are in order and do not touch, so the first that ends behind `first` decides. */
function overlaps({ first, last }: Ranks, from: number, to: number): boolean {
  let [low, high] = [0, last.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((last[middle] ?? 0) > from) high = middle;
    else low = middle + 1;
  }
  return low < last.length && (first[low] ?? Infinity) < to;
}
