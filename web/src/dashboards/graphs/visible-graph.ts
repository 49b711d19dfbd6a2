import { formatCount, formatPlural } from '../../lib/format';
import {
  type AuxiliaryRole,
  BODY_SEPARATOR,
  type GraphEdge,
  type GraphGroup,
  type GraphNode,
} from './graph-model';

/** What the user wants to see of groups, beside which are open. */
export interface VisibilityOptions {
  /** Groups whose nodes that stand aside are seen. */
  readonly expandedAuxiliary: ReadonlySet<string>;
  /** Nodes that would stand aside and were put back, or the other way round. */
  readonly movedNodes: ReadonlySet<string>;
}

/** A group as it is drawn: who stands aside is one box until somebody wants to see them. */
export interface VisibleGroup extends GraphGroup {
  readonly auxiliaryIds: ReadonlySet<string>;
}

const ROLE_LABELS: Readonly<Record<AuxiliaryRole, string>> = {
  noop: 'no-op',
  constant: 'constant',
  summary: 'summary op',
  resource: 'resource handle',
  hub: 'hub',
  lonely: 'unconnected',
};

export const MORE_SUFFIX = ' rest';
export const AUXILIARY_SUFFIX = ' aside';

/**
 * The groups that are seen, by the nodes that hold them; the root's is ''. A node that runs several
 * functions, as a loop does, holds one box for each.
 */
export function buildVisibleGroups(
  groups: ReadonlyMap<string, GraphGroup>,
  open: ReadonlySet<string>,
  wanted: VisibilityOptions,
): Map<string, VisibleGroup> {
  const shown = new Map<string, VisibleGroup>();
  const enter = (holder: string, group: GraphGroup): void => {
    const seen = buildVisibleGroup(group, wanted);
    shown.set(holder, seen);
    for (const node of seen.nodes) {
      const bodies = node.bodies.flatMap((id) => (open.has(id) ? (groups.get(id) ?? []) : []));
      const [first, second] = bodies;
      if (first) enter(node.id, second ? combineBodies(node, bodies) : first);
    }
  };
  const root = groups.get('');
  if (root) enter('', root);
  return shown;
}

/** What keeps a node from being drawn: one that stands aside, or a group shown in part. */
export type HiddenReason =
  | { readonly kind: 'aside'; readonly node: string }
  | { readonly kind: 'rest'; readonly group: string };

/**
 * Find what hides a node whose groups are open, from the outermost group on. Null where nothing
 * does, or where a group is not loaded yet.
 *
 * @param around The groups that hold the node, from the outermost on, without the root.
 */
export function findHiddenReason(
  groups: ReadonlyMap<string, GraphGroup>,
  { expandedAuxiliary, movedNodes }: VisibilityOptions,
  id: string,
  around: readonly string[],
): HiddenReason | null {
  const levels = ['', ...around];
  for (const [at, level] of levels.entries()) {
    const group = groups.get(level);
    if (!group) return null;
    const inner = levels[at + 1];
    const node = group.nodes.find((node) =>
      inner === undefined ? node.id === id : node.bodies.includes(inner),
    );
    if (!node) return group.nodes.length < group.total ? { kind: 'rest', group: level } : null;
    if (isAuxiliary(node, movedNodes) && !expandedAuxiliary.has(level))
      return { kind: 'aside', node: node.id };
  }
  return null;
}

function isAuxiliary(node: GraphNode, moved: ReadonlySet<string>): boolean {
  return (node.role !== null) !== moved.has(node.id);
}

function combineBodies(node: GraphNode, bodies: readonly GraphGroup[]): GraphGroup {
  const nodes = bodies.map(({ id, total }): GraphNode => {
    const label = id.split(BODY_SEPARATOR).at(-2) ?? id;
    return {
      ...node,
      id,
      label,
      kind: 'group',
      op: '',
      opCount: total,
      bodies: [id],
      autoOpenGroups: [],
    };
  });
  const links = bodies.flatMap((body, place) => boundaryEdgesOf(body.edges, place));
  return { id: node.id, total: nodes.length, nodes, edges: links };
}

/** What a body gets and gives, on its way through the node that runs it. */
function boundaryEdgesOf(links: readonly GraphEdge[], place: number): GraphEdge[] {
  const ways = new Map<string, GraphEdge>();
  for (const link of links) {
    if (link.source === null) ways.set(`in ${link.portKey}`, { ...link, target: place });
    else if (link.target === null) ways.set(`out ${link.portKey}`, { ...link, source: place });
  }
  return [...ways.values()];
}

function buildVisibleGroup(
  group: GraphGroup,
  { expandedAuxiliary, movedNodes }: VisibilityOptions,
): VisibleGroup {
  const isAway = (node: GraphNode): boolean => isAuxiliary(node, movedNodes);
  const away = group.nodes.filter(isAway);
  const isSeen = expandedAuxiliary.has(group.id);
  const rest = group.total - group.nodes.length;
  const more = [
    ...(away.length > 0 && !isSeen ? [auxiliaryPlaceholder(group.id, away)] : []),
    ...(rest > 0 ? [morePlaceholder(group.id, rest)] : []),
  ];
  if (isSeen || away.length === 0) {
    const asides = [...away, ...more].map(({ id }) => id);
    return { ...group, nodes: [...group.nodes, ...more], auxiliaryIds: new Set(asides) };
  }
  return { ...removeNodes(group, isAway, more), auxiliaryIds: new Set(more.map(({ id }) => id)) };
}

function removeNodes(
  group: GraphGroup,
  isAway: (node: GraphNode) => boolean,
  more: GraphNode[],
): GraphGroup {
  const kept = group.nodes.filter((node) => !isAway(node));
  const places = new Map(kept.map((node, place) => [node, place]));
  const placeOf = (end: number | null): number | null | undefined => {
    const node = end === null ? undefined : group.nodes[end];
    return end === null ? null : node && places.get(node);
  };
  const links = group.edges.flatMap((link) => {
    const [source, target] = [placeOf(link.source), placeOf(link.target)];
    return source === undefined || target === undefined ? [] : [{ ...link, source, target }];
  });
  return { ...group, nodes: [...kept, ...more], edges: links };
}

function auxiliaryPlaceholder(group: string, away: readonly GraphNode[]): GraphNode {
  const counts = new Map<string, number>();
  for (const { role } of away) {
    const word = role === null ? 'set aside' : ROLE_LABELS[role];
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const words = [...counts].map(([word, count]) => formatPlural(count, word)).join(' · ');
  return placeholderNode(
    `${group}${AUXILIARY_SUFFIX}`,
    `${formatPlural(away.length, 'node')} aside`,
    words,
  );
}

function morePlaceholder(group: string, rest: number): GraphNode {
  return placeholderNode(
    `${group}${MORE_SUFFIX}`,
    `and ${formatCount(rest)} more`,
    'show the next',
  );
}

function placeholderNode(id: string, label: string, op: string): GraphNode {
  return {
    ...{ id, label, op, kind: 'rest', opCount: 0, firstRank: 0, lastRank: 0, shape: '', dtype: '' },
    ...{
      parameters: null,
      role: 'lonely',
      structure: null,
      change: null,
      bodies: [],
      autoOpenGroups: [],
    },
  };
}
