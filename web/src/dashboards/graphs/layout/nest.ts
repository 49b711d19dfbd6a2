import { type Laid, layOutInterior } from './interior';
import { inPort, outPort } from './level-plan';
import type { Direction, Interior, NestedLink, Placed, PlacedLink, PlacedNode } from './nesting';
import type { Spot } from './types';

export function layOutNest(root: Interior, direction: Direction): Placed {
  const laid = layOutInterior(root, direction);
  const nodes: PlacedNode[] = [];
  const links: PlacedLink[] = [];
  collect(laid, { x: 0, y: 0 }, 0, nodes, links);
  return { width: laid.width, height: laid.height, nodes, links };
}

function collect(
  laid: Laid,
  origin: Spot,
  depth: number,
  nodes: PlacedNode[],
  links: PlacedLink[],
): void {
  const { interior, middles, sizes, opened } = laid;
  interior.nodes.forEach(({ id }, at) => {
    const [middle, size, inner] = [middles[at], sizes[at], opened[at]];
    if (!middle || !size) return;
    const spot = { x: origin.x + middle.x, y: origin.y + middle.y };
    nodes.push({ id, ...spot, width: size.width, height: size.height, depth });
    const corner = { x: spot.x - size.width / 2, y: spot.y - size.height / 2 };
    if (inner) collect(inner, corner, depth + 1, nodes, links);
  });
  interior.links.forEach((link, at) => {
    const drawn = laid.routes[at];
    const route = drawn ? joinPorts(drawn, link, laid) : directRoute(link, laid);
    const moved = route.map(({ x, y }) => ({ x: x + origin.x, y: y + origin.y }));
    links.push({ owner: interior.id, place: at, route: moved, aside: !drawn });
  });
}

/** At an open group a link ends where it goes on inside. */
function joinPorts(route: readonly Spot[], link: NestedLink, laid: Laid): readonly Spot[] {
  const { nodes } = laid.interior;
  const idOf = (node: number | null): string =>
    node === null ? link.key : (nodes[node]?.id ?? '');
  const first = findPort(laid, link.source, outPort(idOf(link.target)));
  const last = findPort(laid, link.target, inPort(idOf(link.source)));
  return [first ?? route[0], ...route.slice(1, -1), last ?? route.at(-1)].filter(
    (spot) => spot !== undefined,
  );
}

function findPort(laid: Laid, node: number | null, name: string): Spot | undefined {
  if (node === null) return undefined;
  const [inner, middle] = [laid.opened[node], laid.middles[node]];
  const port = inner?.ports.get(name);
  if (!inner || !middle || !port) return undefined;
  return { x: middle.x - inner.width / 2 + port.x, y: middle.y - inner.height / 2 + port.y };
}

function directRoute({ source, target }: NestedLink, { middles }: Laid): Spot[] {
  return [source, target].flatMap((end) => (end === null ? [] : (middles[end] ?? [])));
}
