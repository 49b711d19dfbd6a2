import type { Direction, LayoutPoint } from '../layout/layout-types';
import type { DrawnEdge, DrawnNode, GraphDrawing } from './graph-drawing';
import { boxesOverlap } from './view-transform';

/** The heading of an open group and the mark before the name of a closed one open and close it. */
const TOGGLE_WIDTH_PX = 24;
const TOGGLE_HEIGHT_PX = 28;
const EDGE_HIT_PX = 6;

export interface HitTarget {
  readonly node: DrawnNode | null;
  readonly edge: DrawnEdge | null;
  /** At the mark that opens or closes the node. */
  readonly isToggle: boolean;
}

const NO_HIT: HitTarget = { node: null, edge: null, isToggle: false };

/** What is at a spot of the picture: the innermost node, else the nearest link. */
export function hitTest(drawing: GraphDrawing, spot: LayoutPoint, reach: number): HitTarget {
  const at = { ...spot, width: 0, height: 0 };
  const node =
    drawing.nodes.findLast((box) => boxesOverlap(box, at) && isHittable(box, spot)) ?? null;
  if (node) return { node, edge: null, isToggle: isOnToggle(node, spot) };
  return { ...NO_HIT, edge: findEdge(drawing.edges, spot, EDGE_HIT_PX * reach) };
}

/** Of an open group only the heading counts: what is below is where other things are. */
function isHittable({ isOpen, y, height }: DrawnNode, spot: LayoutPoint): boolean {
  return !isOpen || spot.y - (y - height / 2) < TOGGLE_HEIGHT_PX;
}

function isOnToggle(node: DrawnNode, { x, y }: LayoutPoint): boolean {
  const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
  return x - left < TOGGLE_WIDTH_PX && y - top < TOGGLE_HEIGHT_PX;
}

function findEdge(links: readonly DrawnEdge[], spot: LayoutPoint, reach: number): DrawnEdge | null {
  let [nearest, least]: [DrawnEdge | null, number] = [null, reach];
  for (const link of links) {
    if (link.isAuxiliary) continue;
    for (let at = 1; at < link.route.length; at++) {
      const far = distanceToSegment(spot, link.route[at - 1] ?? spot, link.route[at] ?? spot);
      if (far < least) [nearest, least] = [link, far];
    }
  }
  return nearest;
}

/** From a spot to the straight line between two others. */
function distanceToSegment({ x, y }: LayoutPoint, from: LayoutPoint, to: LayoutPoint): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const along = ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy || 1);
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(x - from.x - share * dx, y - from.y - share * dy);
}

export type ArrowKey = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

type KeyboardMove = 'forth' | 'back' | 'before' | 'after';

const KEYBOARD_MOVES: Readonly<Record<Direction, Readonly<Record<ArrowKey, KeyboardMove>>>> = {
  down: { ArrowDown: 'forth', ArrowUp: 'back', ArrowLeft: 'before', ArrowRight: 'after' },
  right: { ArrowRight: 'forth', ArrowLeft: 'back', ArrowUp: 'before', ArrowDown: 'after' },
};

/** Where an arrow key leads from a node: along its links, or to who stands beside it. */
export function moveByKey(
  drawing: GraphDrawing,
  from: string,
  arrow: ArrowKey,
  direction: Direction,
): string | null {
  const node = drawing.byId.get(from);
  if (!node) return drawing.nodes.find(({ isOpen }) => !isOpen)?.id ?? null;
  const step = KEYBOARD_MOVES[direction][arrow];
  if (step === 'forth' || step === 'back') return followEdge(drawing, node, step, direction);
  return findSibling(drawing, node, step, direction);
}

/** Of several ways the straightest; into an open group, on to what is read inside it. */
function followEdge(
  drawing: GraphDrawing,
  node: DrawnNode,
  step: 'forth' | 'back',
  direction: Direction,
): string | null {
  const [near, far] =
    step === 'forth' ? (['source', 'target'] as const) : (['target', 'source'] as const);
  const across = direction === 'down' ? 'x' : 'y';
  const ways = drawing.edges
    .filter((link) => link[near] === node.id && link.owner === node.parent && link[far] !== node.id)
    .map((link) => ({ id: innermostEnd(drawing, link[far], node.id, near, far), link }))
    .flatMap(({ id, link }) => {
      const other = drawing.byId.get(id);
      return other ? [{ other, isControl: link.edge.isControl }] : [];
    });
  ways.sort(
    (a, b) =>
      Number(a.isControl) - Number(b.isControl) ||
      Math.abs(a.other[across] - node[across]) - Math.abs(b.other[across] - node[across]),
  );
  return ways[0]?.other.id ?? null;
}

/** The node at the end of a link, looked for inside groups that are open. */
function innermostEnd(
  drawing: GraphDrawing,
  id: string,
  from: string,
  near: 'source' | 'target',
  far: 'source' | 'target',
): string {
  let at = id;
  for (let node = drawing.byId.get(at); node?.isOpen; node = drawing.byId.get(at)) {
    const inner = drawing.edges.find(
      (link) => link.owner === at && link[near] === from && link[far] !== from,
    );
    if (!inner) break;
    at = inner[far];
  }
  return at;
}

/** The next of those that stand in one row with it. */
function findSibling(
  drawing: GraphDrawing,
  node: DrawnNode,
  step: 'before' | 'after',
  direction: Direction,
): string | null {
  const [across, along, long] =
    direction === 'down' ? (['x', 'y', 'height'] as const) : (['y', 'x', 'width'] as const);
  const sign = step === 'after' ? 1 : -1;
  const row = drawing.nodes.filter(
    (other) =>
      other.parent === node.parent &&
      sign * (other[across] - node[across]) > 0 &&
      Math.abs(other[along] - node[along]) * 2 < other[long] + node[long],
  );
  row.sort((a, b) => sign * (a[across] - b[across]));
  return row[0]?.id ?? null;
}
