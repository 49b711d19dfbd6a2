/** What is under the pointer, and where the arrow keys lead. */
import { boxesOverlap, type Direction, type LayoutPoint } from '../layout/layout-types';
import type { DrawnEdge, DrawnNode, GraphDrawing } from './graph-drawing';

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
  const node = drawing.nodes.findLast((one) => boxesOverlap(one, box) && isHittable(one, point));
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
