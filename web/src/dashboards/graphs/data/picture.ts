import { formatCount, plural } from '../../../base/format';
import { BODY } from './convert';
import type { GraphLink, GraphNode, Group, Role } from './model';

/** What the user wants to see of groups, beside which are open. */
export interface Wanted {
  /** Groups whose nodes that stand aside are seen. */
  readonly aside: ReadonlySet<string>;
  /** Nodes that would stand aside and were put back, or the other way round. */
  readonly moved: ReadonlySet<string>;
}

/** A group as it is drawn: who stands aside is one box until somebody wants to see them. */
export interface ShownGroup extends Group {
  readonly asides: ReadonlySet<string>;
}

const WORDS: Readonly<Record<Role, string>> = {
  noop: 'no-op',
  constant: 'constant',
  summary: 'summary op',
  resource: 'resource handle',
  hub: 'hub',
  lonely: 'unconnected',
};

export const REST = ' rest';
export const ASIDE = ' aside';

/**
 * The groups that are seen, by the nodes that hold them; the root's is ''. A node that runs several
 * functions, as a loop does, holds one box for each.
 */
export function showGroups(
  groups: ReadonlyMap<string, Group>,
  open: ReadonlySet<string>,
  wanted: Wanted,
): Map<string, ShownGroup> {
  const shown = new Map<string, ShownGroup>();
  const enter = (holder: string, group: Group): void => {
    const seen = showGroup(group, wanted);
    shown.set(holder, seen);
    for (const node of seen.nodes) {
      const bodies = node.bodies.flatMap((id) => (open.has(id) ? (groups.get(id) ?? []) : []));
      const [first, second] = bodies;
      if (first) enter(node.id, second ? gather(node, bodies) : first);
    }
  };
  const root = groups.get('');
  if (root) enter('', root);
  return shown;
}

/** What keeps a node from being drawn: one that stands aside, or a group shown in part. */
export type Hidden =
  | { readonly kind: 'aside'; readonly node: string }
  | { readonly kind: 'rest'; readonly group: string };

/**
 * Find what hides a node whose groups are open, from the outermost group on. Null where nothing
 * does, or where a group is not loaded yet.
 *
 * @param around The groups that hold the node, from the outermost on, without the root.
 */
export function findHidden(
  groups: ReadonlyMap<string, Group>,
  { aside, moved }: Wanted,
  id: string,
  around: readonly string[],
): Hidden | null {
  const levels = ['', ...around];
  for (const [at, level] of levels.entries()) {
    const group = groups.get(level);
    if (!group) return null;
    const inner = levels[at + 1];
    const node = group.nodes.find((node) =>
      inner === undefined ? node.id === id : node.bodies.includes(inner),
    );
    if (!node) return group.nodes.length < group.total ? { kind: 'rest', group: level } : null;
    if (isAside(node, moved) && !aside.has(level)) return { kind: 'aside', node: node.id };
  }
  return null;
}

function isAside(node: GraphNode, moved: ReadonlySet<string>): boolean {
  return (node.role !== null) !== moved.has(node.id);
}

function gather(node: GraphNode, bodies: readonly Group[]): Group {
  const nodes = bodies.map(({ id, total }): GraphNode => {
    const label = id.split(BODY).at(-2) ?? id;
    return { ...node, id, label, kind: 'group', op: '', leaves: total, bodies: [id], chain: [] };
  });
  const links = bodies.flatMap((body, place) => passing(body.links, place));
  return { id: node.id, total: nodes.length, nodes, links };
}

/** What a body gets and gives, on its way through the node that runs it. */
function passing(links: readonly GraphLink[], place: number): GraphLink[] {
  const ways = new Map<string, GraphLink>();
  for (const link of links) {
    if (link.source === null) ways.set(`in ${link.key}`, { ...link, target: place });
    else if (link.target === null) ways.set(`out ${link.key}`, { ...link, source: place });
  }
  return [...ways.values()];
}

function showGroup(group: Group, { aside, moved }: Wanted): ShownGroup {
  const isAway = (node: GraphNode): boolean => isAside(node, moved);
  const away = group.nodes.filter(isAway);
  const isSeen = aside.has(group.id);
  const rest = group.total - group.nodes.length;
  const more = [
    ...(away.length > 0 && !isSeen ? [asideBox(group.id, away)] : []),
    ...(rest > 0 ? [restBox(group.id, rest)] : []),
  ];
  if (isSeen || away.length === 0) {
    const asides = [...away, ...more].map(({ id }) => id);
    return { ...group, nodes: [...group.nodes, ...more], asides: new Set(asides) };
  }
  return { ...without(group, isAway, more), asides: new Set(more.map(({ id }) => id)) };
}

function without(group: Group, isAway: (node: GraphNode) => boolean, more: GraphNode[]): Group {
  const kept = group.nodes.filter((node) => !isAway(node));
  const places = new Map(kept.map((node, place) => [node, place]));
  const placeOf = (end: number | null): number | null | undefined => {
    const node = end === null ? undefined : group.nodes[end];
    return end === null ? null : node && places.get(node);
  };
  const links = group.links.flatMap((link) => {
    const [source, target] = [placeOf(link.source), placeOf(link.target)];
    return source === undefined || target === undefined ? [] : [{ ...link, source, target }];
  });
  return { ...group, nodes: [...kept, ...more], links };
}

function asideBox(group: string, away: readonly GraphNode[]): GraphNode {
  const counts = new Map<string, number>();
  for (const { role } of away) {
    const word = role === null ? 'set aside' : WORDS[role];
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const words = [...counts].map(([word, count]) => plural(count, word)).join(' · ');
  return box(`${group}${ASIDE}`, `${plural(away.length, 'node')} aside`, words);
}

function restBox(group: string, rest: number): GraphNode {
  return box(`${group}${REST}`, `and ${formatCount(rest)} more`, 'show the next');
}

function box(id: string, label: string, op: string): GraphNode {
  return {
    ...{ id, label, op, kind: 'rest', leaves: 0, first: 0, last: 0, shape: '', dtype: '' },
    ...{ parameters: null, role: 'lonely', structure: null, change: null, bodies: [], chain: [] },
  };
}
