import type { CallTreeResponse } from '../../../api/schemas';
import { shortenKernelName } from '../display';

/** Return the name of a call; C++ kernels without their template arguments and parameters. */
export function shortenCallName(name: string): string {
  const isKernel = /^void |^[\w:]+</.test(name) && !name.includes('.py(');
  return isKernel ? shortenKernelName(name) : name;
}

/** A node of a call tree. Times are per step if two captures are compared. */
export interface CallNode {
  /** Index in the response. */
  readonly id: number;
  readonly name: string;
  readonly parent: number;
  readonly depth: number;
  readonly count: number;
  readonly total: number;
  readonly self: number;
  /** Time in the baseline; null without one. */
  readonly baselineTotal: number | null;
  readonly baselineSelf: number | null;
  readonly event: number;
  /** Longest first. */
  readonly children: number[];
}

export interface CallTreeData {
  readonly nodes: readonly CallNode[];
  readonly roots: readonly number[];
  readonly total: number;
  readonly baselineTotal: number | null;
  readonly maxDepth: number;
}

/** Make the nodes of a response; parents come before their children. */
export function makeCallTree(response: CallTreeResponse): CallTreeData {
  const isCompared = response.baseline_steps > 0;
  const steps = isCompared ? Math.max(response.steps, 1) : 1;
  const baselineSteps = Math.max(response.baseline_steps, 1);
  const nodes: CallNode[] = [];
  const roots: number[] = [];
  let maxDepth = 0;
  for (let id = 0; id < response.names.length; id += 1) {
    const parent = response.parents[id] ?? -1;
    const depth = parent < 0 ? 0 : (nodes[parent]?.depth ?? 0) + 1;
    maxDepth = Math.max(maxDepth, depth);
    nodes.push({
      id,
      name: response.unique_names[response.names[id] ?? 0] ?? '',
      parent,
      depth,
      count: (response.counts[id] ?? 0) / steps,
      total: (response.total_ms[id] ?? 0) / steps,
      self: (response.self_ms[id] ?? 0) / steps,
      baselineTotal: isCompared ? (response.baseline_total_ms[id] ?? 0) / baselineSteps : null,
      baselineSelf: isCompared ? (response.baseline_self_ms[id] ?? 0) / baselineSteps : null,
      event: response.events[id] ?? -1,
      children: [],
    });
    if (parent < 0) roots.push(id);
    else nodes[parent]?.children.push(id);
  }
  const byTime = (a: number, b: number): number => getWidth(nodes[b]) - getWidth(nodes[a]);
  for (const { children } of nodes) children.sort(byTime);
  roots.sort(byTime);
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  return {
    nodes,
    roots,
    total: sum(roots.map((id) => nodes[id]?.total ?? 0)),
    baselineTotal: isCompared ? sum(roots.map((id) => nodes[id]?.baselineTotal ?? 0)) : null,
    maxDepth,
  };
}

/** Compared nodes are as wide as in the capture in which they took longer. */
function getWidth(node: CallNode | undefined): number {
  return node ? Math.max(node.total, node.baselineTotal ?? 0) : 0;
}

/** A bar of a flame graph: position and width as fractions of the graph. */
export interface FlameBar {
  readonly node: CallNode;
  readonly left: number;
  readonly width: number;
  /** Row from the top. */
  readonly row: number;
  /** Encloses the node that is zoomed in on. */
  readonly isAncestor: boolean;
}

/**
 * Lay out the nodes below `root`, or all of them if it is null, and its callers above it. Bars
 * narrower than `minWidth` are left out, with what they called.
 */
export function layoutFlame(
  { nodes, roots }: CallTreeData,
  root: number | null,
  minWidth: number,
): FlameBar[] {
  const bars: FlameBar[] = [];
  const ancestors: CallNode[] = [];
  for (let node = nodes[nodes[root ?? -1]?.parent ?? -1]; node; node = nodes[node.parent])
    ancestors.unshift(node);
  for (const [row, node] of ancestors.entries())
    bars.push({ node, left: 0, width: 1, row, isAncestor: true });
  const place = (ids: readonly number[], from: number, width: number, row: number): void => {
    const widths = ids.map((id) => getWidth(nodes[id]));
    const sum = widths.reduce((a, b) => a + b, 0);
    let left = from;
    for (const [index, id] of ids.entries()) {
      const node = nodes[id];
      // Children that took longer than their caller, each in another capture, share its width.
      const parent = nodes[node?.parent ?? -1];
      const whole = row > ancestors.length && parent ? Math.max(getWidth(parent), sum) : sum;
      const own = whole > 0 ? ((widths[index] ?? 0) / whole) * width : 0;
      if (node && own >= minWidth) {
        bars.push({ node, left, width: own, row, isAncestor: false });
        place(node.children, left, own, row + 1);
      }
      left += own;
    }
  };
  place(root === null ? roots : [root], 0, 1, ancestors.length);
  return bars;
}

/** Return the time of the outermost nodes that match: nested ones are part of it. */
export function sumMatches(
  { nodes }: CallTreeData,
  matches: (name: string) => boolean,
): { readonly count: number; readonly total: number } {
  const isInside: boolean[] = [];
  let count = 0;
  let total = 0;
  for (const { id, name, parent, total: time } of nodes) {
    const isMatch = matches(name);
    const isNested = isInside[parent] ?? false;
    isInside[id] = isMatch || isNested;
    if (isMatch) count += 1;
    if (isMatch && !isNested) total += time;
  }
  return { count, total };
}

/** Return the nodes of expanded callers in the order of a tree. */
export function flattenCalls(
  { nodes, roots }: CallTreeData,
  isExpanded: (id: number) => boolean,
): CallNode[] {
  const rows: CallNode[] = [];
  const add = (ids: readonly number[]): void => {
    for (const id of ids) {
      const node = nodes[id];
      if (!node) continue;
      rows.push(node);
      if (isExpanded(id)) add(node.children);
    }
  };
  add(roots);
  return rows;
}

/** Return the nodes that are expanded at first: the longest path, as long as it is most of the time. */
export function listHotPath({ nodes, roots }: CallTreeData): number[] {
  const path: number[] = [];
  let id = roots[0];
  while (id !== undefined) {
    const node = nodes[id];
    path.push(id);
    const next = node?.children[0];
    const share = getWidth(nodes[next ?? -1]) / (getWidth(node) || 1);
    id = next !== undefined && share >= 0.4 ? next : undefined;
  }
  return path;
}

/** Return the nodes that are expanded without the user: the longest path, and callers of matches. */
export function listExpanded(
  tree: CallTreeData,
  matches: ((name: string) => boolean) | null,
): number[] {
  const callers = tree.nodes
    .filter(({ name }) => matches?.(name) ?? false)
    .flatMap(({ parent }) => listCallers(tree, parent));
  return [...listHotPath(tree), ...callers];
}

function listCallers({ nodes }: CallTreeData, id: number): number[] {
  const callers: number[] = [];
  for (let at = id; at >= 0; at = nodes[at]?.parent ?? -1) callers.push(at);
  return callers;
}
