import type { Pen } from '../../../charts/pen/pen';
import type { GraphLink, GraphNode } from '../data/model';
import type { ShownGroup } from '../data/picture';
import type { Interior, Placed, PlacedNode } from '../layout/nesting';
import type { Size, Spot } from '../layout/types';
import { sizeOf } from './measures';

export interface DrawnNode extends PlacedNode {
  readonly node: GraphNode;
  readonly isOpen: boolean;
  /** The group that it stands in. */
  readonly parent: string;
}

export interface DrawnLink {
  readonly id: string;
  readonly owner: string;
  readonly link: GraphLink;
  readonly route: readonly Spot[];
  readonly aside: boolean;
  /** Nodes, as far as this level knows them: beyond the group, the one that stands beside it. */
  readonly source: string;
  readonly target: string;
  /** It ends at a node, not at the edge of a group inside which it goes on. */
  readonly arrives: boolean;
}

export interface Drawing extends Size {
  readonly nodes: readonly DrawnNode[];
  readonly links: readonly DrawnLink[];
  readonly byId: ReadonlyMap<string, DrawnNode>;
}

/** By the nodes that hold them. */
export type Groups = ReadonlyMap<string, ShownGroup>;

export const EMPTY: Drawing = { width: 0, height: 0, nodes: [], links: [], byId: new Map() };

/** What is to be laid out. */
export function interiorOf(id: string, groups: Groups, widthOf: Pen['widthOf']): Interior {
  const group = groups.get(id);
  const nodes = (group?.nodes ?? []).map((node) => ({
    id: node.id,
    ...sizeOf(node, widthOf),
    aside: group?.asides.has(node.id) ?? false,
    inside: groups.has(node.id) ? interiorOf(node.id, groups, widthOf) : null,
  }));
  const links = group?.links.map(({ source, target, key }) => ({ source, target, key })) ?? [];
  return { id, nodes, links };
}

/** Puts together where things are and what they are. */
export function drawingOf(placed: Placed, groups: Groups): Drawing {
  const known = new Map<string, { node: GraphNode; parent: string }>();
  for (const [parent, { nodes }] of groups)
    for (const node of nodes) known.set(node.id, { node, parent });
  const nodes = placed.nodes.flatMap((spot) => {
    const found = known.get(spot.id);
    return found ? [{ ...spot, ...found, isOpen: groups.has(spot.id) }] : [];
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const links = placed.links.flatMap(({ owner, place, route, aside }) => {
    const group = groups.get(owner);
    const link = group?.links[place];
    if (!group || !link) return [];
    const idOf = (end: number | null): string =>
      end === null ? link.key : (group.nodes[end]?.id ?? '');
    const [source, target] = [idOf(link.source), idOf(link.target)];
    const arrives = link.target !== null && byId.get(target)?.isOpen !== true;
    return [{ id: `${owner} ${place}`, owner, link, route, aside, source, target, arrives }];
  });
  return { width: placed.width, height: placed.height, nodes, links, byId };
}
