import type { ProgramsResponse } from '../../../api/schemas';
import * as m from '../../../catalog/profile';

/** A program, kind or scope with its instructions, or one instruction. */
export interface ProgramNode {
  /** The names of its ancestors and its own, to find it in another capture. */
  readonly path: string;
  readonly name: string;
  readonly depth: number;
  /** Opcode and shape of an instruction; empty for a group. */
  readonly details: string;
  readonly source: string;
  readonly children: ProgramNode[];
  count: number;
  ms: number;
  flops: number;
  bytes: number;
  /** The longest event of an instruction; -1 for a group. */
  readonly event: number;
}

export type ProgramGrouping = 'program' | 'kind' | 'scope';

const SEPARATOR = '\n';

const KIND_LABELS: Readonly<Record<string, string>> = {
  'matrix product': m.programKindMatmul,
  convolution: m.programKindConvolution,
  collective: m.programKindCollective,
  reduction: m.programKindReduction,
  elementwise: m.programKindElementwise,
  'data movement': m.programKindDataMovement,
  'control flow': m.programKindControlFlow,
};

/** Return executed instructions as a tree of groups, longest first. */
export function makeProgramTree(
  response: ProgramsResponse,
  by: ProgramGrouping,
  perStep: boolean,
): ProgramNode[] {
  const steps = perStep ? Math.max(response.steps, 1) : 1;
  const top: ProgramNode[] = [];
  const known = new Map<string, ProgramNode>();
  response.names.forEach((name, index) => {
    const own = {
      count: (response.counts[index] ?? 0) / steps,
      ms: (response.total_ms[index] ?? 0) / steps,
    };
    const cost = {
      flops: (response.flops[index] ?? 0) / steps,
      bytes: (response.bytes[index] ?? 0) / steps,
    };
    let [siblings, path] = [top, ''];
    for (const [depth, part] of [...getGroupPath(response, index, by), name].entries()) {
      path = depth === 0 ? part : path + SEPARATOR + part;
      const isLeaf = part === name && depth === getGroupPath(response, index, by).length;
      const node = known.get(path) ?? makeNode(response, index, path, part, depth, isLeaf);
      if (!known.has(path)) {
        known.set(path, node);
        siblings.push(node);
      }
      node.count += own.count;
      node.ms += own.ms;
      node.flops += cost.flops;
      node.bytes += cost.bytes;
      siblings = node.children;
    }
  });
  sortByTime(top);
  return top;
}

function makeNode(
  response: ProgramsResponse,
  index: number,
  path: string,
  name: string,
  depth: number,
  isLeaf: boolean,
): ProgramNode {
  const details = isLeaf ? `${response.opcodes[index] ?? ''} ${response.shapes[index] ?? ''}` : '';
  const source = isLeaf ? (response.sources[index] ?? '') : '';
  const event = isLeaf ? (response.longest[index] ?? -1) : -1;
  return {
    path,
    name,
    depth,
    details,
    source,
    event,
    children: [],
    count: 0,
    ms: 0,
    flops: 0,
    bytes: 0,
  };
}

function getGroupPath(response: ProgramsResponse, index: number, by: ProgramGrouping): string[] {
  const kind = response.kinds[index] ?? '';
  const kindLabel = KIND_LABELS[kind] ?? kind;
  if (by === 'kind') return [kindLabel];
  if (by === 'program') {
    const program = response.programs.find(
      (each) => each.index === response.program_indices[index],
    );
    return [program?.name ?? '', kindLabel];
  }
  const scope = (response.scopes[index] ?? '').split('/').filter(Boolean);
  return scope.length > 0 ? scope : [m.programScopeUnknown];
}

function sortByTime(nodes: ProgramNode[]): void {
  nodes.sort((first, second) => second.ms - first.ms);
  for (const { children } of nodes) sortByTime(children);
}

/** Return the nodes whose ancestors are all expanded. */
export function flattenExpanded(
  nodes: readonly ProgramNode[],
  isExpanded: (path: string) => boolean,
): ProgramNode[] {
  return nodes.flatMap((node) => [
    node,
    ...(isExpanded(node.path) ? flattenExpanded(node.children, isExpanded) : []),
  ]);
}

/** Return the times of all nodes by path. */
export function collectTimes(
  nodes: readonly ProgramNode[],
  times = new Map<string, number>(),
): Map<string, number> {
  for (const { path, ms, children } of nodes) {
    times.set(path, ms);
    collectTimes(children, times);
  }
  return times;
}

/** Return the paths to expand initially: those that take most of the time. */
export function listInitiallyExpanded(nodes: readonly ProgramNode[], share = 0.5): string[] {
  const [first] = nodes;
  const total = nodes.reduce((sum, { ms }) => sum + ms, 0);
  if (!first || first.children.length === 0 || first.ms < share * total) return [];
  return [first.path, ...listInitiallyExpanded(first.children, share)];
}
