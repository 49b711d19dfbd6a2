import { type Laid, layOutInterior, portsAt } from './interior';
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
    const spot = moved(middle, origin);
    nodes.push({ id, ...spot, width: size.width, height: size.height, depth });
    const corner = { x: spot.x - size.width / 2, y: spot.y - size.height / 2 };
    if (inner) collect(inner, corner, depth + 1, nodes, links);
  });
  interior.links.forEach((link, at) => {
    const drawn = laid.routes[at];
    const route = drawn ? joinPorts(drawn, link, laid) : directRoute(link, laid);
    const placed = route.map((spot) => moved(spot, origin));
    links.push({ owner: interior.id, place: at, route: placed, aside: !drawn });
  });
}

/** At an open group a link ends where it goes on inside, to the very spot. */
function joinPorts(route: readonly Spot[], link: NestedLink, laid: Laid): readonly Spot[] {
  const [from, to] = portsAt(link, laid.interior.nodes, laid.opened);
  const first = from && moved(from, laid.middles[link.source ?? -1]);
  const last = to && moved(to, laid.middles[link.target ?? -1]);
  return [first ?? route[0], ...route.slice(1, -1), last ?? route.at(-1)].filter(
    (spot) => spot !== undefined,
  );
}

function moved({ x, y }: Spot, by: Spot | undefined): Spot {
  return { x: x + (by?.x ?? 0), y: y + (by?.y ?? 0) };
}

function directRoute({ source, target }: NestedLink, { middles }: Laid): Spot[] {
  return [source, target].flatMap((end) => (end === null ? [] : (middles[end] ?? [])));
}
