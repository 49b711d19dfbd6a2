import type { DrawnLink, DrawnNode, Drawing } from './drawing';

/** More than this is too much to move smoothly, and nobody could follow it. */
const MOST = 700;
/** So many grow out of their group at most: of more, all would be on the screen on their way. */
const MOST_GROWING = 60;

export function canMove(from: Drawing, to: Drawing): boolean {
  return from.nodes.length > 0 && from.nodes.length + to.nodes.length <= MOST;
}

/**
 * A picture on the way from one to another. What is in both moves; what is new grows out of the
 * group that was opened, or simply is there.
 */
export function between(from: Drawing, to: Drawing, share: number): Drawing {
  const mix = (a: number, b: number): number => a + (b - a) * share;
  const added = to.nodes.filter(({ id }) => !from.byId.has(id)).length;
  const nodes = to.nodes.map((node): DrawnNode => {
    const origin = added <= MOST_GROWING ? findAncestor(from, to, node) : undefined;
    const before = from.byId.get(node.id) ?? origin;
    if (!before) return node;
    const wasNode = before.id === node.id;
    return {
      ...node,
      x: mix(before.x, node.x),
      y: mix(before.y, node.y),
      width: wasNode ? mix(before.width, node.width) : node.width,
      height: wasNode ? mix(before.height, node.height) : node.height,
    };
  });
  const past = new Map(from.links.map((link) => [link.id, link]));
  const links = to.links.map((link): DrawnLink => {
    const before = past.get(link.id);
    if (before?.route.length !== link.route.length) return link;
    const route = link.route.map((spot, at) => ({
      x: mix(before.route[at]?.x ?? spot.x, spot.x),
      y: mix(before.route[at]?.y ?? spot.y, spot.y),
    }));
    return { ...link, route };
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return { ...to, nodes, links, byId };
}

/** The group that a new node was inside of before. */
function findAncestor(from: Drawing, to: Drawing, node: DrawnNode): DrawnNode | undefined {
  for (let at = to.byId.get(node.parent); at; at = to.byId.get(at.parent)) {
    const before = from.byId.get(at.id);
    if (before) return before;
  }
  return undefined;
}
