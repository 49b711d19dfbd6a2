import type { Renderer } from '../../../charts/renderer/renderer';
import { formatPlural } from '../../../lib/format';
import { type GraphEdge, type GraphNode, isExpandable } from '../graph-model';
import type {
  Direction,
  LayoutPoint,
  NestedGraph,
  NestedLayout,
  PlacedNode,
  Size,
} from '../layout/layout-types';
import type { VisibleGroup } from '../visible-graph';
import { type Box, boxesOverlap } from './view-transform';

export const NAME_SIZE = 12;
export const SUBTITLE_SIZE = 10;
const NODE_WIDTH_RANGE = { least: 64, most: 210 };
const NODE_PADDING_PX = 12;
const CHEVRON_WIDTH_PX = 12;
const NODE_HEIGHTS = { one: 28, two: 40 };

/** What stands below the name: what it is, or how much is in it. */
export function nodeSubtitle(node: GraphNode): string {
  const parameters = node.parameters ? formatPlural(node.parameters, 'param') : '';
  if (node.kind === 'rest') return node.op;
  const what = isExpandable(node) ? formatPlural(node.opCount, 'op') : node.op;
  const named = what.toLowerCase() === node.label.toLowerCase() ? '' : what;
  return [named, parameters].filter((fact) => fact !== '').join(' · ');
}

/** How much place a closed node takes. */
export function measureNode(node: GraphNode, widthOf: Renderer['measureText']): Size {
  const facts = nodeSubtitle(node);
  const name =
    widthOf(node.label, { size: NAME_SIZE, bold: true }) +
    (isExpandable(node) ? CHEVRON_WIDTH_PX : 0);
  const text = Math.max(name, widthOf(facts, { size: SUBTITLE_SIZE }));
  const width = Math.round(
    Math.min(NODE_WIDTH_RANGE.most, Math.max(NODE_WIDTH_RANGE.least, text + 2 * NODE_PADDING_PX)),
  );
  return { width, height: facts === '' ? NODE_HEIGHTS.one : NODE_HEIGHTS.two };
}

/** A name in the width that there is: its middle goes, as its end tells it from others. */
export function truncateMiddle(
  text: string,
  room: number,
  widthOf: (text: string) => number,
): string {
  if (widthOf(text) <= room) return text;
  for (let kept = text.length - 1; kept > 2; kept--) {
    const head = Math.ceil(kept / 2);
    const short = `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
    if (widthOf(short) <= room) return short;
  }
  return '…';
}

/** How wide a link is drawn for so many numbers: four times as wide for 256 times as many. */
export function edgeWidth(elements: number | null): number {
  return elements === null ? 1.2 : Math.min(9, 0.9 + 0.08 * elements ** 0.25);
}

export interface DrawnNode extends PlacedNode {
  readonly node: GraphNode;
  readonly isOpen: boolean;
  /** The group that it stands in. */
  readonly parent: string;
}

export interface DrawnEdge {
  readonly id: string;
  readonly owner: string;
  readonly edge: GraphEdge;
  readonly route: readonly LayoutPoint[];
  readonly isAuxiliary: boolean;
  /** Nodes, as far as this level knows them: beyond the group, the one that stands beside it. */
  readonly source: string;
  readonly target: string;
  /** It ends at a node, not at the edge of a group inside which it goes on. */
  readonly hasArrowHead: boolean;
}

export interface GraphDrawing extends Size {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  readonly byId: ReadonlyMap<string, DrawnNode>;
}

/** By the nodes that hold them. */
export type VisibleGroups = ReadonlyMap<string, VisibleGroup>;

export const EMPTY_DRAWING: GraphDrawing = {
  width: 0,
  height: 0,
  nodes: [],
  edges: [],
  byId: new Map(),
};

/** What is to be laid out. */
export function toNestedGraph(
  id: string,
  groups: VisibleGroups,
  widthOf: Renderer['measureText'],
): NestedGraph {
  const group = groups.get(id);
  const nodes = (group?.nodes ?? []).map((node) => ({
    id: node.id,
    ...measureNode(node, widthOf),
    isAuxiliary: group?.auxiliaryIds.has(node.id) ?? false,
    content: groups.has(node.id) ? toNestedGraph(node.id, groups, widthOf) : null,
  }));
  const edges =
    group?.edges.map(({ source, target, portKey }) => ({ source, target, portKey })) ?? [];
  return { id, nodes, edges };
}

/** Puts together where things are and what they are. */
export function buildDrawing(placed: NestedLayout, groups: VisibleGroups): GraphDrawing {
  const known = new Map<string, { node: GraphNode; parent: string }>();
  for (const [parent, { nodes }] of groups)
    for (const node of nodes) known.set(node.id, { node, parent });
  const nodes = placed.nodes.flatMap((spot) => {
    const found = known.get(spot.id);
    return found ? [{ ...spot, ...found, isOpen: groups.has(spot.id) }] : [];
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = placed.edges.flatMap(({ owner, index, route, isAuxiliary }) => {
    const group = groups.get(owner);
    const edge = group?.edges[index];
    if (!group || !edge) return [];
    const idOf = (end: number | null): string =>
      end === null ? edge.portKey : (group.nodes[end]?.id ?? '');
    const [source, target] = [idOf(edge.source), idOf(edge.target)];
    const hasArrowHead = edge.target !== null && byId.get(target)?.isOpen !== true;
    return [
      { id: `${owner} ${index}`, owner, edge, route, isAuxiliary, source, target, hasArrowHead },
    ];
  });
  return { width: placed.width, height: placed.height, nodes, edges, byId };
}

/** What stands out in the picture, and what steps back. */
export interface Highlights {
  isSelected(id: string): boolean;
  isMatch(id: string): boolean;
  isDimmed(id: string): boolean;
  /** Something about it, or in it, is hardly right. */
  hasShapeIssue(id: string): boolean;
  isEdgeHighlighted(link: DrawnEdge): boolean;
  isEdgeDimmed(link: DrawnEdge): boolean;
}

export const NO_HIGHLIGHTS: Highlights = {
  isSelected: () => false,
  isMatch: () => false,
  isDimmed: () => false,
  hasShapeIssue: () => false,
  isEdgeHighlighted: () => false,
  isEdgeDimmed: () => false,
};

const round = (number: number): number => Math.round(number * 10) / 10;

/** The way of a link as SVG writes it: it leaves and enters along the flow and bends in between. */
export function edgePath(route: readonly LayoutPoint[], direction: Direction): string {
  const [first, ...rest] = route;
  if (!first) return '';
  let path = `M${round(first.x)} ${round(first.y)}`;
  let from = first;
  for (const to of rest) {
    path += curveSegment(from, to, direction);
    from = to;
  }
  return path;
}

function curveSegment(from: LayoutPoint, to: LayoutPoint, direction: Direction): string {
  const [x, y] = [round(to.x), round(to.y)];
  const isStraight = Math.abs(from.x - to.x) < 0.5 || Math.abs(from.y - to.y) < 0.5;
  if (isStraight) return `L${x} ${y}`;
  if (direction === 'down') {
    const middle = round((from.y + to.y) / 2);
    return `C${round(from.x)} ${middle} ${x} ${middle} ${x} ${y}`;
  }
  const middle = round((from.x + to.x) / 2);
  return `C${middle} ${round(from.y)} ${middle} ${y} ${x} ${y}`;
}

/** The arrow at the end of a way, and the way without the part that the arrow covers. */
export function arrowHead(
  route: readonly LayoutPoint[],
  direction: Direction,
  width: number,
): { readonly path: string; readonly shaft: readonly LayoutPoint[] } {
  const [tip, before] = [route.at(-1) ?? { x: 0, y: 0 }, route.at(-2) ?? { x: 0, y: 0 }];
  const [long, wide] = [5 + width, 2.5 + width];
  const isAcross = route.length === SELF_LOOP_POINTS && tip.y === before.y;
  if (direction === 'down' && !isAcross) {
    const back = tip.y - Math.sign(tip.y - before.y || 1) * long;
    const path = `M${round(tip.x)} ${round(tip.y)}L${round(tip.x - wide)} ${round(back)}H${round(tip.x + wide)}Z`;
    return { path, shaft: [...route.slice(0, -1), { x: tip.x, y: back }] };
  }
  const back = tip.x - Math.sign(tip.x - before.x || 1) * long;
  const path = `M${round(tip.x)} ${round(tip.y)}L${round(back)} ${round(tip.y - wide)}V${round(tip.y + wide)}Z`;
  return { path, shaft: [...route.slice(0, -1), { x: back, y: tip.y }] };
}

/** A node's link to itself has so many spots and ends sideways. */
const SELF_LOOP_POINTS = 4;

export interface EdgeLabel extends LayoutPoint {
  readonly id: string;
  readonly text: string;
  /** It stands beside a line that runs straight down, else on it. */
  readonly isBesideEdge: boolean;
}

export const LABEL_SIZE = 10;
const LETTER_WIDTH_PX = 5.6;
const LABEL_GAP_PX = 5;
/** Where along its longest piece a label may stand, the best first. */
const LABEL_POSITIONS = [0.5, 0.38, 0.62, 0.26, 0.74];

/**
 * What flows through links: the largest first, each where it lies upon no other. Inside a group
 * nothing is said again of what enters or leaves it.
 */
export function placeEdgeLabels(links: readonly DrawnEdge[]): EdgeLabel[] {
  const spoken = links.filter(
    ({ edge }) =>
      edge.label !== '' && !edge.isControl && edge.source !== null && edge.target !== null,
  );
  spoken.sort((a, b) => (b.edge.elementCount ?? 0) - (a.edge.elementCount ?? 0));
  const [labels, taken]: [EdgeLabel[], Box[]] = [[], []];
  for (const drawn of spoken) {
    const label = findLabelPosition(drawn, taken);
    if (label) labels.push(label);
  }
  return labels;
}

function findLabelPosition({ id, edge, route }: DrawnEdge, taken: Box[]): EdgeLabel | null {
  const piece = findLongestSegment(route);
  if (!piece) return null;
  const { begin, end } = piece;
  const width = edge.label.length * LETTER_WIDTH_PX;
  const beside = Math.abs(end.x - begin.x) < 1;
  const shift = beside ? LABEL_GAP_PX + edgeWidth(edge.elementCount) / 2 : 0;
  for (const share of LABEL_POSITIONS) {
    const x = begin.x + (end.x - begin.x) * curveOffset(share) + shift;
    const y = begin.y + (end.y - begin.y) * share;
    const box = { x: beside ? x + width / 2 : x, y, width, height: LABEL_SIZE };
    if (taken.some((other) => boxesOverlap(box, other))) continue;
    taken.push(box);
    return { id, x, y, text: edge.label, isBesideEdge: beside };
  }
  return null;
}

function findLongestSegment(route: readonly LayoutPoint[]): RouteSegment | undefined {
  const pieces = route.slice(1).map((end, at): RouteSegment => ({ begin: route[at] ?? end, end }));
  const lengthOf = ({ begin, end }: RouteSegment): number =>
    Math.hypot(end.x - begin.x, end.y - begin.y);
  return pieces.sort((a, b) => lengthOf(b) - lengthOf(a))[0];
}

interface RouteSegment {
  readonly begin: LayoutPoint;
  readonly end: LayoutPoint;
}

/** How far across a curve is that far along: it leaves and arrives slowly. */
function curveOffset(share: number): number {
  return share * share * (3 - 2 * share);
}
