import type { ProgramsResponse } from '../schemas';

/** A part of what ran: a program, a kind, a scope, or one instruction. */
export interface ProgramNode {
  /** All names from the top on, so that it is found again in another capture. */
  readonly path: string;
  readonly name: string;
  readonly depth: number;
  /** What an instruction is and where it came from; empty for what only holds others. */
  readonly details: string;
  readonly source: string;
  readonly children: ProgramNode[];
  count: number;
  ms: number;
  flops: number;
  bytes: number;
  /** The event that took longest, of an instruction. */
  readonly event: number;
}

export type ProgramGrouping = 'program' | 'kind' | 'scope';

const SEPARATOR = '\n';

/** The instructions that ran, below what they are sorted by; the longest first. */
export function makeProgramTree(
  answer: ProgramsResponse,
  by: ProgramGrouping,
  perStep: boolean,
): ProgramNode[] {
  const steps = perStep ? Math.max(answer.steps, 1) : 1;
  const top: ProgramNode[] = [];
  const known = new Map<string, ProgramNode>();
  answer.names.forEach((name, at) => {
    const own = { count: (answer.counts[at] ?? 0) / steps, ms: (answer.total_ms[at] ?? 0) / steps };
    const cost = { flops: (answer.flops[at] ?? 0) / steps, bytes: (answer.bytes[at] ?? 0) / steps };
    let [siblings, path] = [top, ''];
    for (const [depth, part] of [...getGroupPath(answer, at, by), name].entries()) {
      path = depth === 0 ? part : path + SEPARATOR + part;
      const isLeaf = part === name && depth === getGroupPath(answer, at, by).length;
      const node = known.get(path) ?? makeNode(answer, at, path, part, depth, isLeaf);
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
  answer: ProgramsResponse,
  at: number,
  path: string,
  name: string,
  depth: number,
  isLeaf: boolean,
): ProgramNode {
  const about = isLeaf ? `${answer.opcodes[at] ?? ''} ${answer.shapes[at] ?? ''}` : '';
  const source = isLeaf ? (answer.sources[at] ?? '') : '';
  const event = isLeaf ? (answer.longest[at] ?? -1) : -1;
  return {
    path,
    name,
    depth,
    details: about,
    source,
    event,
    children: [],
    count: 0,
    ms: 0,
    flops: 0,
    bytes: 0,
  };
}

function getGroupPath(answer: ProgramsResponse, at: number, by: ProgramGrouping): string[] {
  const kind = answer.kinds[at] ?? '';
  if (by === 'kind') return [kind];
  if (by === 'program') {
    const program = answer.programs.find(({ index }) => index === answer.programs_of[at]);
    return [program?.name ?? '', kind];
  }
  const scope = (answer.scopes[at] ?? '').split('/').filter(Boolean);
  return scope.length > 0 ? scope : ['not said'];
}

function sortByTime(nodes: ProgramNode[]): void {
  nodes.sort((one, other) => other.ms - one.ms);
  for (const { children } of nodes) sortByTime(children);
}

/** The nodes that are seen: those below closed ones are not. */
export function flattenOpenNodes(
  nodes: readonly ProgramNode[],
  isOpen: (path: string) => boolean,
): ProgramNode[] {
  return nodes.flatMap((node) => [
    node,
    ...(isOpen(node.path) ? flattenOpenNodes(node.children, isOpen) : []),
  ]);
}

/** Times by path, to find what a node took in another capture. */
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

/** The ways down that most of the time is on, as it is good to see them at first. */
export function listInitiallyOpen(nodes: readonly ProgramNode[], share = 0.5): string[] {
  const [first] = nodes;
  const total = nodes.reduce((sum, { ms }) => sum + ms, 0);
  if (!first || first.children.length === 0 || first.ms < share * total) return [];
  return [first.path, ...listInitiallyOpen(first.children, share)];
}
