import { layOutLevel } from './level';
import {
  inPort,
  type LevelPlan,
  outPort,
  planLevel,
  transposed,
  transposedSize,
} from './level-plan';
import type { Direction, Interior, NestedLink } from './nesting';
import type { LevelLayout, Link, Size, Spot } from './types';

export const HEADER = 30;
const MARGIN = 18;
const ASIDE_GAP = 56;

/** A level with where it begins inside its group, and what is inside its own open nodes. */
export interface Laid extends Size {
  readonly interior: Interior;
  readonly middles: readonly Spot[];
  readonly routes: readonly (readonly Spot[] | null)[];
  readonly sizes: readonly Size[];
  readonly opened: readonly (Laid | null)[];
  /** Where links pass the edge of the group, by the port's name. */
  readonly ports: ReadonlyMap<string, Spot>;
}

export function layOutInterior(interior: Interior, direction: Direction): Laid {
  const opened = interior.nodes.map(({ inside }) => inside && layOutInterior(inside, direction));
  const sizes = interior.nodes.map((node, place): Size => opened[place] ?? node);
  const plan = planLevel(interior, sizes);
  const flowing = direction === 'down' ? plan.blocks : plan.blocks.map(transposedSize);
  const links = plan.links.map((link, at) => {
    const own = interior.links[plan.linkPlaces[at] ?? 0];
    return own ? { ...link, ...offsetsOf(own, interior, opened, direction) } : link;
  });
  const level = layOutLevel({ blocks: flowing, links });
  const layout = direction === 'down' ? level : transposed(level);
  const origin = originOf(plan, direction);
  const placed = place(interior, plan, layout, origin);
  const beyond = extent(plan, layout, origin, direction);
  const aside = placeAside(interior, sizes, beyond, placed.middles);
  return { ...placed, interior, sizes, opened, ...aside };
}

/** At an open group a link is to end where it goes on inside. */
function offsetsOf(
  link: NestedLink,
  { nodes }: Interior,
  opened: Laid['opened'],
  direction: Direction,
): Pick<Link, 'sourceOffset' | 'targetOffset'> {
  const [from, to] = portsAt(link, nodes, opened);
  const across = direction === 'down' ? 'x' : 'y';
  return { sourceOffset: from?.[across], targetOffset: to?.[across] };
}

/** Where a link passes the edges of the open groups at its ends, from the middles of these. */
export function portsAt(
  { source, target, key }: NestedLink,
  nodes: Interior['nodes'],
  opened: Laid['opened'],
): [Spot | undefined, Spot | undefined] {
  const idOf = (node: number | null): string => (node === null ? key : (nodes[node]?.id ?? ''));
  const find = (node: number | null, name: string): Spot | undefined => {
    const inner = node === null ? null : opened[node];
    const port = inner?.ports.get(name);
    if (!inner || !port) return undefined;
    return { x: port.x - inner.width / 2, y: port.y - inner.height / 2 };
  };
  return [find(source, outPort(idOf(target))), find(target, inPort(idOf(source)))];
}

/** Ports stand on the very edge of their group; nodes keep clear of it and of the heading. */
function originOf({ portNames }: LevelPlan, direction: Direction): Spot {
  const hasInputs = portNames.some((name) => name.startsWith('in '));
  return direction === 'down'
    ? { x: MARGIN, y: hasInputs ? 0 : HEADER }
    : { x: hasInputs ? 0 : MARGIN, y: HEADER };
}

function extent({ portNames }: LevelPlan, layout: Size, origin: Spot, direction: Direction): Size {
  const rest = portNames.some((name) => name.startsWith('out ')) ? 0 : MARGIN;
  const [right, below] = direction === 'down' ? [MARGIN, rest] : [rest, MARGIN];
  return { width: origin.x + layout.width + right, height: origin.y + layout.height + below };
}

function place(
  { nodes, links }: Interior,
  plan: LevelPlan,
  layout: LevelLayout,
  origin: Spot,
): Pick<Laid, 'routes' | 'ports'> & { middles: Spot[] } {
  const move = ({ x, y }: Spot): Spot => ({ x: x + origin.x, y: y + origin.y });
  const middles: Spot[] = nodes.map(() => ({ x: 0, y: 0 }));
  const routes: (Spot[] | null)[] = links.map(() => null);
  const ports = new Map<string, Spot>();
  layout.middles.forEach((spot, block) => {
    const node = plan.nodePlaces[block];
    if (node !== undefined) middles[node] = move(spot);
    else ports.set(plan.portNames[block - plan.nodePlaces.length] ?? '', move(spot));
  });
  layout.routes.forEach((route, at) => (routes[plan.linkPlaces[at] ?? 0] = route.map(move)));
  return { middles, routes, ports };
}

/** In columns at the right, as high as the rest. */
function placeAside(
  { nodes }: Interior,
  sizes: readonly Size[],
  beside: Size,
  middles: Spot[],
): Size {
  let [left, top, column] = [beside.width + ASIDE_GAP - MARGIN, HEADER, 0];
  let { width, height } = beside;
  nodes.forEach(({ aside }, place) => {
    const size = sizes[place];
    if (!aside || !size) return;
    if (top > HEADER && top + size.height > Math.max(beside.height, 400)) {
      [left, top, column] = [left + column + MARGIN, HEADER, 0];
    }
    middles[place] = { x: left + size.width / 2, y: top + size.height / 2 };
    top += size.height + MARGIN / 2;
    column = Math.max(column, size.width);
    width = Math.max(width, left + column + MARGIN);
    height = Math.max(height, top + MARGIN);
  });
  return { width, height };
}
