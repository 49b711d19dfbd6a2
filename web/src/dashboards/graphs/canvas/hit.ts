import type { Spot } from '../layout/types';
import type { DrawnLink, DrawnNode, Drawing } from './drawing';
import { touches } from './view';

/** The heading of an open group and the mark before the name of a closed one open and close it. */
const MARK_WIDTH = 24;
const HEADING = 28;
const NEAR = 6;

export interface Hit {
  readonly node: DrawnNode | null;
  readonly link: DrawnLink | null;
  /** At the mark that opens or closes the node. */
  readonly isMark: boolean;
}

const NOTHING: Hit = { node: null, link: null, isMark: false };

/** What is at a spot of the picture: the innermost node, else the nearest link. */
export function hitAt(drawing: Drawing, spot: Spot, reach: number): Hit {
  const at = { ...spot, width: 0, height: 0 };
  const node = drawing.nodes.findLast((box) => touches(box, at) && isSolid(box, spot)) ?? null;
  if (node) return { node, link: null, isMark: isAtMark(node, spot) };
  return { ...NOTHING, link: findLink(drawing.links, spot, NEAR * reach) };
}

/** Of an open group only the heading counts: what is below is where other things are. */
function isSolid({ isOpen, y, height }: DrawnNode, spot: Spot): boolean {
  return !isOpen || spot.y - (y - height / 2) < HEADING;
}

function isAtMark(node: DrawnNode, { x, y }: Spot): boolean {
  const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
  return x - left < MARK_WIDTH && y - top < HEADING;
}

function findLink(links: readonly DrawnLink[], spot: Spot, reach: number): DrawnLink | null {
  let [nearest, least]: [DrawnLink | null, number] = [null, reach];
  for (const link of links) {
    if (link.aside) continue;
    for (let at = 1; at < link.route.length; at++) {
      const far = distance(spot, link.route[at - 1] ?? spot, link.route[at] ?? spot);
      if (far < least) [nearest, least] = [link, far];
    }
  }
  return nearest;
}

/** From a spot to the straight line between two others. */
function distance({ x, y }: Spot, from: Spot, to: Spot): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const along = ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy || 1);
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(x - from.x - share * dx, y - from.y - share * dy);
}
