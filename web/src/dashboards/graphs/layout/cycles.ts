import type { Flow, Link } from './types';

/** Which links lead back along a walk through the graph, so that turning them leaves no cycle. */
export function findBackward(count: number, links: readonly Link[]): Set<number> {
  const leaving = linksBySource(count, links);
  const state = new Uint8Array(count);
  const backward = new Set<number>();
  for (const start of walkOrder(count, links)) {
    if (state[start] === NEW) walk(start, links, leaving, state, backward);
  }
  return backward;
}

const NEW = 0;
const OPEN = 1;
const DONE = 2;

/** Without recursion: a chain of ten thousand nodes is no stack of ten thousand calls. */
function walk(
  start: number,
  links: readonly Link[],
  leaving: readonly (readonly number[])[],
  state: Uint8Array,
  backward: Set<number>,
): void {
  const path: { node: number; next: number }[] = [{ node: start, next: 0 }];
  state[start] = OPEN;
  for (let top = path.at(-1); top; top = path.at(-1)) {
    const link = leaving[top.node]?.[top.next++];
    if (link === undefined) {
      state[top.node] = DONE;
      path.pop();
      continue;
    }
    const target = links[link]?.target ?? 0;
    if (state[target] === OPEN) backward.add(link);
    else if (state[target] === NEW) {
      state[target] = OPEN;
      path.push({ node: target, next: 0 });
    }
  }
}

/** Nodes that nothing leads to come first, so that the walk follows the graph. */
function walkOrder(count: number, links: readonly Link[]): number[] {
  const isReached = new Uint8Array(count);
  for (const { source, target } of links) if (source !== target) isReached[target] = 1;
  const nodes = Array.from({ length: count }, (_, node) => node);
  return [...nodes.filter((node) => !isReached[node]), ...nodes.filter((node) => isReached[node])];
}

function linksBySource(count: number, links: readonly Link[]): number[][] {
  const leaving: number[][] = Array.from({ length: count }, () => []);
  links.forEach(({ source, target }, place) => {
    if (source !== target) leaving[source]?.push(place);
  });
  return leaving;
}

/** Neighbours by the direction of the flow; several links between two nodes count once. */
export function flowOf(count: number, links: readonly Link[]): Flow {
  const above: number[][] = Array.from({ length: count }, () => []);
  const below: number[][] = Array.from({ length: count }, () => []);
  const seen = new Set<number>();
  for (const { source, target } of links) {
    const key = source * count + target;
    if (source === target || seen.has(key)) continue;
    seen.add(key);
    above[target]?.push(source);
    below[source]?.push(target);
  }
  return { above, below };
}
