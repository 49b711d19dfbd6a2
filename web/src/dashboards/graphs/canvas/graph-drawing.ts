/** The geometry of the drawing: sizes of nodes, paths of edges, positions of labels. */
import type { Renderer } from '../../../charts/renderer/renderer';
import { getNodeSubtitle } from '../graph-labels';
import {
  type EdgeStubs,
  type GraphEdge,
  type GraphNode,
  isExpandable,
  type VisibleGroups,
} from '../graph-model';
import {
  type Box,
  areBoxesOverlapping,
  type Direction,
  type LayoutPoint,
  type NestedGraph,
  type NestedLayout,
  type PlacedNode,
  type Size,
} from '../layout/layout-types';

export const NAME_SIZE = 12;
export const SUBTITLE_SIZE = 10;
export const EDGE_LABEL_SIZE = 10;
const MIN_NODE_WIDTH_PX = 64;
const MAX_NODE_WIDTH_PX = 210;
const NODE_PADDING_PX = 12;
const CHEVRON_WIDTH_PX = 12;
/** Between the name and the size of an expanded group. */
export const TITLE_GAP_PX = 6;
const ONE_LINE_HEIGHT_PX = 28;
const TWO_LINE_HEIGHT_PX = 40;

export interface DrawnNode extends PlacedNode {
  readonly node: GraphNode;
  readonly isOpen: boolean;
  /** The node that contains it; empty at the top level. */
  readonly parent: string;
  /** Its edges to auxiliary nodes that are not drawn. */
  readonly stubs: EdgeStubs;
}

export interface DrawnEdge {
  readonly id: string;
  /** The node whose group has the edge. */
  readonly owner: string;
  readonly edge: GraphEdge;
  readonly route: readonly LayoutPoint[];
  /** Paths of both ends; an end outside of the group is the node next to the group. */
  readonly source: string;
  readonly target: string;
  /** False if the edge continues inside an expanded group. */
  readonly hasArrowHead: boolean;
}

export interface GraphDrawing extends Size {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  readonly byId: ReadonlyMap<string, DrawnNode>;
}

export const EMPTY_DRAWING: GraphDrawing = {
  width: 0,
  height: 0,
  nodes: [],
  edges: [],
  byId: new Map(),
};

/** Which nodes and edges stand out. */
export interface Highlights {
  isSelected(id: string): boolean;
  isMatch(id: string): boolean;
  isDimmed(id: string): boolean;
  hasShapeIssue(id: string): boolean;
  isEdgeHighlighted(edge: DrawnEdge): boolean;
  isEdgeDimmed(edge: DrawnEdge): boolean;
}

export const NO_HIGHLIGHTS: Highlights = {
  isSelected: () => false,
  isMatch: () => false,
  isDimmed: () => false,
  hasShapeIssue: () => false,
  isEdgeHighlighted: () => false,
  isEdgeDimmed: () => false,
};

// ---- Layout

/** Return the size of a collapsed node. */
export function measureNode(node: GraphNode, measureText: Renderer['measureText']): Size {
  const subtitle = getNodeSubtitle(node);
  const name =
    measureText(node.label, { size: NAME_SIZE, bold: true }) +
    (isExpandable(node) ? CHEVRON_WIDTH_PX : 0);
  const text = Math.max(name, measureText(subtitle, { size: SUBTITLE_SIZE })) + 2 * NODE_PADDING_PX;
  return {
    width: Math.round(Math.min(MAX_NODE_WIDTH_PX, Math.max(MIN_NODE_WIDTH_PX, text))),
    height: subtitle === '' ? ONE_LINE_HEIGHT_PX : TWO_LINE_HEIGHT_PX,
  };
}

/** Return the input of the layout. */
export function toNestedGraph(
  id: string,
  groups: VisibleGroups,
  measureText: Renderer['measureText'],
): NestedGraph {
  const group = groups.get(id);
  const nodes = (group?.nodes ?? []).map((node) => ({
    id: node.id,
    ...measureNode(node, measureText),
    isAuxiliary: group?.auxiliaryIds.has(node.id) ?? false,
    content: groups.has(node.id)
      ? {
          ...toNestedGraph(node.id, groups, measureText),
          titleWidth: measureTitle(node, measureText),
        }
      : null,
  }));
  const edges =
    group?.edges.map(({ source, target, portKey }) => ({ source, target, portKey })) ?? [];
  return { id, nodes, edges };
}

/** Return the width of the title of an expanded group, at most that of a collapsed node. */
function measureTitle(node: GraphNode, measureText: Renderer['measureText']): number {
  const name = measureText(node.label, { size: NAME_SIZE, bold: true }) + CHEVRON_WIDTH_PX;
  const subtitle = measureText(getNodeSubtitle(node), { size: SUBTITLE_SIZE });
  return Math.min(MAX_NODE_WIDTH_PX, name) + TITLE_GAP_PX + subtitle + 2 * NODE_PADDING_PX;
}

const NO_STUBS: EdgeStubs = { inputs: [], outputs: [] };

/** Combine a layout with the nodes and edges that were laid out. */
export function buildDrawing(layout: NestedLayout, groups: VisibleGroups): GraphDrawing {
  const known = new Map<string, { node: GraphNode; parent: string; stubs: EdgeStubs }>();
  for (const [parent, { nodes, stubs }] of groups)
    for (const node of nodes)
      known.set(node.id, { node, parent, stubs: stubs.get(node.id) ?? NO_STUBS });
  const nodes = layout.nodes.flatMap((placed) => {
    const found = known.get(placed.id);
    return found ? [{ ...placed, ...found, isOpen: groups.has(placed.id) }] : [];
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = layout.edges.flatMap(({ owner, index, route }) => {
    const group = groups.get(owner);
    const edge = group?.edges[index];
    if (!group || !edge) return [];
    const getId = (end: number | null): string =>
      end === null ? edge.portKey : (group.nodes[end]?.id ?? '');
    const [source, target] = [getId(edge.source), getId(edge.target)];
    const hasArrowHead = edge.target !== null && byId.get(target)?.isOpen !== true;
    return [{ id: `${owner} ${index}`, owner, edge, route, source, target, hasArrowHead }];
  });
  return { width: layout.width, height: layout.height, nodes, edges, byId };
}

/** Truncate a name in the middle: its end distinguishes it from others. */
export function truncateMiddle(
  text: string,
  maxWidth: number,
  measure: (text: string) => number,
): string {
  if (measure(text) <= maxWidth) return text;
  for (let kept = text.length - 1; kept > 2; kept--) {
    const head = Math.ceil(kept / 2);
    const short = `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
    if (measure(short) <= maxWidth) return short;
  }
  return '…';
}

// ---- Edges

/** A self-loop has this many points and ends horizontally. */
const SELF_LOOP_POINTS = 4;

/** Return the line width for a number of elements: 4 times as wide for 256 times as many. */
export function getEdgeWidth(elements: number | null): number {
  return elements === null ? 1.2 : Math.min(9, 0.9 + 0.08 * elements ** 0.25);
}

const round = (number: number): number => Math.round(number * 10) / 10;

/** Return the SVG path of an edge, which starts and ends in the direction of the layout. */
export function makeEdgePath(route: readonly LayoutPoint[], direction: Direction): string {
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

/** Return the path of an arrow head, and the route without the part below the head. */
export function arrowHead(
  route: readonly LayoutPoint[],
  direction: Direction,
  width: number,
): { readonly path: string; readonly shaft: readonly LayoutPoint[] } {
  const [tip, before] = [route.at(-1) ?? { x: 0, y: 0 }, route.at(-2) ?? { x: 0, y: 0 }];
  const [length, halfWidth] = [5 + width, 2.5 + width];
  const isHorizontal = route.length === SELF_LOOP_POINTS && tip.y === before.y;
  if (direction === 'down' && !isHorizontal) {
    const base = tip.y - Math.sign(tip.y - before.y || 1) * length;
    const path = `M${round(tip.x)} ${round(tip.y)}L${round(tip.x - halfWidth)} ${round(base)}H${round(tip.x + halfWidth)}Z`;
    return { path, shaft: [...route.slice(0, -1), { x: tip.x, y: base }] };
  }
  const base = tip.x - Math.sign(tip.x - before.x || 1) * length;
  const path = `M${round(tip.x)} ${round(tip.y)}L${round(base)} ${round(tip.y - halfWidth)}V${round(tip.y + halfWidth)}Z`;
  return { path, shaft: [...route.slice(0, -1), { x: base, y: tip.y }] };
}

// ---- Edge labels

export interface EdgeLabel extends LayoutPoint {
  readonly id: string;
  readonly text: string;
  /** The label is to the right of a vertical line; otherwise it is on the line. */
  readonly isBesideEdge: boolean;
}

const LABEL_GAP_PX = 5;
/** Free space around a label, in total. */
const LABEL_SPACE = { width: 16, height: 8 };
/** Positions along a segment of an edge, the preferred one first. */
const LABEL_POSITIONS = [0.5, 0.38, 0.62, 0.26, 0.74];
/** A straight segment that is shorter has no room for a label. */
const MIN_STRAIGHT_PX = 20;
/** Distance between the points of an edge that labels of other edges keep clear of. */
const SAMPLE_STEP_PX = 8;

/**
 * Place the labels of edges, the largest tensors first. Labels do not touch each other or nodes;
 * one without a free position is left out. Other edges are crossed only if there is no other place.
 */
export function placeEdgeLabels(
  edges: readonly DrawnEdge[],
  nodes: readonly Box[],
  measureText: Renderer['measureText'],
): EdgeLabel[] {
  // Edges across the boundary of a group have their label outside of it.
  const labeled = edges.filter(
    ({ edge }) =>
      edge.label !== '' && !edge.isControl && edge.source !== null && edge.target !== null,
  );
  labeled.sort((a, b) => (b.edge.elementCount ?? 0) - (a.edge.elementCount ?? 0));
  const labels: EdgeLabel[] = [];
  const occupied = new BoxIndex();
  for (const node of nodes) occupied.add(node);
  const lines = new BoxIndex();
  for (const { id, route } of edges)
    for (const point of sampleRoute(route)) lines.add({ ...point, width: 1, height: 1 }, id);
  const isRepeated = makeRepetitionTest(labeled);
  for (const edge of labeled) {
    if (isRepeated(edge)) continue;
    const width = measureText(edge.edge.label, { size: EDGE_LABEL_SIZE });
    const label = findLabelPosition(edge, width, occupied, lines);
    if (label) labels.push(label);
  }
  return labels;
}

/** Yield points of an edge, close enough to each other that no label fits in between. */
function* sampleRoute(route: readonly LayoutPoint[]): Generator<LayoutPoint> {
  for (const segment of listSegments(route)) {
    const { start, end } = segment;
    const length = Math.hypot(end.x - start.x, end.y - start.y);
    const count = Math.max(1, Math.ceil(length / SAMPLE_STEP_PX));
    for (let index = 0; index <= count; index++) yield getSegmentPoint(segment, index / count);
  }
}

/** Of more equal labels at one side of a node, only the first is shown. */
const MAX_EQUAL_LABELS = 6;

/** Return a function that tells whether a label was shown for another edge of a busy node. */
function makeRepetitionTest(edges: readonly DrawnEdge[]): (edge: DrawnEdge) => boolean {
  const listSides = ({ source, target, edge: { label } }: DrawnEdge): string[] => [
    `${source} > ${label}`,
    `${target} < ${label}`,
  ];
  const counts = new Map<string, number>();
  for (const side of edges.flatMap(listSides)) counts.set(side, (counts.get(side) ?? 0) + 1);
  const shown = new Set<string>();
  return (edge) => {
    const busy = listSides(edge).filter((side) => (counts.get(side) ?? 0) > MAX_EQUAL_LABELS);
    if (busy.some((side) => shown.has(side))) return true;
    for (const side of busy) shown.add(side);
    return false;
  };
}

/** Boxes by horizontal bands, to find those that overlap another one. */
class BoxIndex {
  static readonly #BAND_PX = 64;
  readonly #bands = new Map<number, { readonly box: Box; readonly owner: string }[]>();

  add(box: Box, owner = ''): void {
    for (const band of BoxIndex.#listBands(box)) {
      const boxes = this.#bands.get(band);
      if (boxes) boxes.push({ box, owner });
      else this.#bands.set(band, [{ box, owner }]);
    }
  }

  /** Return whether a box overlaps one of another owner. */
  overlaps(box: Box, owner?: string): boolean {
    return BoxIndex.#listBands(box).some((band) =>
      this.#bands
        .get(band)
        ?.some((other) => other.owner !== owner && areBoxesOverlapping(box, other.box)),
    );
  }

  static #listBands({ y, height }: Box): number[] {
    const first = Math.floor((y - height / 2) / BoxIndex.#BAND_PX);
    const last = Math.floor((y + height / 2) / BoxIndex.#BAND_PX);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  }
}

function findLabelPosition(
  { id, edge, route }: DrawnEdge,
  width: number,
  occupied: BoxIndex,
  lines: BoxIndex,
): EdgeLabel | null {
  let crossing: EdgeLabel | null = null;
  for (const segment of listLabelSegments(route)) {
    const isBesideEdge = isVertical(segment);
    const shift = isBesideEdge ? LABEL_GAP_PX + getEdgeWidth(edge.elementCount) / 2 : 0;
    for (const position of LABEL_POSITIONS) {
      const point = getSegmentPoint(segment, position);
      const label = { id, x: point.x + shift, y: point.y, text: edge.label, isBesideEdge };
      const box = getLabelBox(label, width);
      const space = {
        ...box,
        width: box.width + LABEL_SPACE.width,
        height: box.height + LABEL_SPACE.height,
      };
      if (occupied.overlaps(space)) continue;
      if (!lines.overlaps(box, id)) {
        occupied.add(box);
        return label;
      }
      crossing ??= label;
    }
  }
  if (crossing) occupied.add(getLabelBox(crossing, width));
  return crossing;
}

function getLabelBox({ x, y, isBesideEdge }: EdgeLabel, width: number): Box {
  return { x: isBesideEdge ? x + width / 2 : x, y, width, height: EDGE_LABEL_SIZE };
}

interface RouteSegment {
  readonly start: LayoutPoint;
  readonly end: LayoutPoint;
}

const isVertical = ({ start, end }: RouteSegment): boolean => Math.abs(end.x - start.x) < 1;

/** Return the segments of an edge; vertical ones that continue each other are one. */
function listSegments(route: readonly LayoutPoint[]): RouteSegment[] {
  const segments: RouteSegment[] = [];
  for (const [index, end] of route.slice(1).entries()) {
    const segment = { start: route[index] ?? end, end };
    const last = segments.at(-1);
    if (last && isVertical(last) && isVertical(segment))
      segments[segments.length - 1] = { start: last.start, end };
    else segments.push(segment);
  }
  return segments;
}

/** Return the segments where a label can be: vertical ones before curves, the longest first. */
function listLabelSegments(route: readonly LayoutPoint[]): RouteSegment[] {
  const getLength = ({ start, end }: RouteSegment): number =>
    Math.hypot(end.x - start.x, end.y - start.y);
  const isRoomy = (segment: RouteSegment): boolean =>
    isVertical(segment) && getLength(segment) >= MIN_STRAIGHT_PX;
  return listSegments(route).sort(
    (a, b) => Number(isRoomy(b)) - Number(isRoomy(a)) || getLength(b) - getLength(a),
  );
}

function getSegmentPoint({ start, end }: RouteSegment, position: number): LayoutPoint {
  return {
    x: start.x + (end.x - start.x) * easeInOut(position),
    y: start.y + (end.y - start.y) * position,
  };
}

/** The course of a curve across the direction of the layout, from 0 to 1. */
function easeInOut(position: number): number {
  return position * position * (3 - 2 * position);
}

// ---- What is under the pointer

/** Size of the area that expands or collapses a group: the chevron, or the title of an open one. */
const TOGGLE_WIDTH_PX = 24;
const TOGGLE_HEIGHT_PX = 28;
const EDGE_HIT_PX = 6;

export interface HitTarget {
  readonly node: DrawnNode | null;
  readonly edge: DrawnEdge | null;
  readonly isToggle: boolean;
}

/**
 * Return the innermost node at a point of the drawing, or the nearest edge.
 *
 * @param pixel The size of a pixel of the screen in the drawing.
 */
export function hitTest(drawing: GraphDrawing, point: LayoutPoint, pixel: number): HitTarget {
  const box = { ...point, width: 0, height: 0 };
  const node = drawing.nodes.findLast(
    (one) => areBoxesOverlapping(one, box) && isHittable(one, point),
  );
  if (node) return { node, edge: null, isToggle: isOnToggle(node, point) };
  const edge = findEdge(drawing.edges, point, EDGE_HIT_PX * pixel);
  return { node: null, edge, isToggle: false };
}

/** Of an expanded group only the title can be hit. */
function isHittable({ isOpen, y, height }: DrawnNode, point: LayoutPoint): boolean {
  return !isOpen || point.y - (y - height / 2) < TOGGLE_HEIGHT_PX;
}

function isOnToggle(node: DrawnNode, { x, y }: LayoutPoint): boolean {
  const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
  return x - left < TOGGLE_WIDTH_PX && y - top < TOGGLE_HEIGHT_PX;
}

function findEdge(
  edges: readonly DrawnEdge[],
  point: LayoutPoint,
  maxDistance: number,
): DrawnEdge | null {
  let [nearest, least]: [DrawnEdge | null, number] = [null, maxDistance];
  for (const edge of edges) {
    for (let end = 1; end < edge.route.length; end++) {
      const start = edge.route[end - 1] ?? point;
      const distance = getSegmentDistance(point, start, edge.route[end] ?? point);
      if (distance < least) [nearest, least] = [edge, distance];
    }
  }
  return nearest;
}

function getSegmentDistance({ x, y }: LayoutPoint, from: LayoutPoint, to: LayoutPoint): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const projection = ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy || 1);
  const share = Math.min(1, Math.max(0, projection));
  return Math.hypot(x - from.x - share * dx, y - from.y - share * dy);
}

// ---- Keyboard

export type ArrowKey = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

type KeyboardMove = 'forward' | 'backward' | 'previous' | 'next';

const KEYBOARD_MOVES: Readonly<Record<Direction, Readonly<Record<ArrowKey, KeyboardMove>>>> = {
  down: { ArrowDown: 'forward', ArrowUp: 'backward', ArrowLeft: 'previous', ArrowRight: 'next' },
  right: { ArrowRight: 'forward', ArrowLeft: 'backward', ArrowUp: 'previous', ArrowDown: 'next' },
};

/** Return where an arrow key leads from a node: along an edge, or to the next node of the layer. */
export function moveByKey(
  drawing: GraphDrawing,
  from: string,
  key: ArrowKey,
  direction: Direction,
): string | null {
  const node = drawing.byId.get(from);
  if (!node) return drawing.nodes.find(({ isOpen }) => !isOpen)?.id ?? null;
  const move = KEYBOARD_MOVES[direction][key];
  if (move === 'forward' || move === 'backward') return followEdge(drawing, node, move, direction);
  return findSibling(drawing, node, move, direction);
}

/** Prefer data edges to control edges, then the straightest one. */
function followEdge(
  drawing: GraphDrawing,
  node: DrawnNode,
  move: 'forward' | 'backward',
  direction: Direction,
): string | null {
  const [near, far] =
    move === 'forward' ? (['source', 'target'] as const) : (['target', 'source'] as const);
  const across = direction === 'down' ? 'x' : 'y';
  const candidates = drawing.edges
    .filter((edge) => edge[near] === node.id && edge.owner === node.parent && edge[far] !== node.id)
    .flatMap((edge) => {
      const other = drawing.byId.get(findInnermostEnd(drawing, edge[far], node.id, near, far));
      return other ? [{ other, isControl: edge.edge.isControl }] : [];
    });
  candidates.sort(
    (a, b) =>
      Number(a.isControl) - Number(b.isControl) ||
      Math.abs(a.other[across] - node[across]) - Math.abs(b.other[across] - node[across]),
  );
  return candidates[0]?.other.id ?? null;
}

/** Return the node at the end of an edge, inside of expanded groups. */
function findInnermostEnd(
  drawing: GraphDrawing,
  end: string,
  from: string,
  near: 'source' | 'target',
  far: 'source' | 'target',
): string {
  let id = end;
  while (drawing.byId.get(id)?.isOpen) {
    const inner = drawing.edges.find(
      (edge) => edge.owner === id && edge[near] === from && edge[far] !== from,
    );
    if (!inner) break;
    id = inner[far];
  }
  return id;
}

/** Return the nearest node of the same group and layer. */
function findSibling(
  drawing: GraphDrawing,
  node: DrawnNode,
  move: 'previous' | 'next',
  direction: Direction,
): string | null {
  const [across, along, length] =
    direction === 'down' ? (['x', 'y', 'height'] as const) : (['y', 'x', 'width'] as const);
  const sign = move === 'next' ? 1 : -1;
  const siblings = drawing.nodes.filter(
    (other) =>
      other.parent === node.parent &&
      sign * (other[across] - node[across]) > 0 &&
      Math.abs(other[along] - node[along]) * 2 < other[length] + node[length],
  );
  siblings.sort((a, b) => sign * (a[across] - b[across]));
  return siblings[0]?.id ?? null;
}
