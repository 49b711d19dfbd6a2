import { layoutLevel } from './layered-layout';
import type {
  Direction,
  LayoutEdge,
  LayoutNode,
  LayoutPoint,
  LevelLayout,
  NestedEdge,
  NestedGraph,
  NestedLayout,
  PlacedEdge,
  PlacedNode,
  Size,
} from './layout-types';

const PORT_WIDTH = 8;

/** The level as the layout knows it: nodes that do not stand aside, then ports. */
export interface LevelInput {
  readonly nodes: readonly LayoutNode[];
  readonly edges: readonly { readonly source: number; readonly target: number }[];
  /** Which link of the group each one is, and which node each block. */
  readonly edgeIndices: readonly number[];
  readonly nodeIndices: readonly number[];
  readonly portNames: readonly string[];
}

export const inPort = (key: string): string => `in ${key}`;
export const outPort = (key: string): string => `out ${key}`;

export function buildLevelInput({ nodes, edges }: NestedGraph, sizes: readonly Size[]): LevelInput {
  const nodePlaces = nodes.flatMap(({ isAuxiliary }, place) => (isAuxiliary ? [] : [place]));
  const blockOf = new Map(nodePlaces.map((place, block) => [place, block]));
  const drawn = edges.flatMap((link, place) => (isLaidOut(link, nodes) ? [{ link, place }] : []));
  const names = drawn.map(({ link }) => edgePort(link)).filter((name) => name !== null);
  const portNames = [...new Set(names)];
  const portBlocks = new Map(portNames.map((name, at) => [name, nodePlaces.length + at]));
  const blocks: LayoutNode[] = [
    ...nodePlaces.flatMap((place) => sizes[place] ?? []),
    ...portNames.map((name) => portNode(name)),
  ];
  const end = (node: number | null, name: string): number =>
    (node === null ? portBlocks.get(name) : blockOf.get(node)) ?? 0;
  return {
    ...{ nodes: blocks, nodeIndices: nodePlaces, portNames },
    edges: drawn.map(({ link: { source, target, portKey } }) => ({
      source: end(source, inPort(portKey)),
      target: end(target, outPort(portKey)),
    })),
    edgeIndices: drawn.map(({ place }) => place),
  };
}

function isLaidOut({ source, target }: NestedEdge, nodes: NestedGraph['nodes']): boolean {
  return [source, target].every((end) => end === null || nodes[end]?.isAuxiliary === false);
}

function edgePort({ source, target, portKey }: NestedEdge): string | null {
  if (source === null) return inPort(portKey);
  return target === null ? outPort(portKey) : null;
}

function portNode(name: string): LayoutNode {
  return { width: PORT_WIDTH, height: 0, pin: name.startsWith('in ') ? 'top' : 'bottom' };
}

export function transposeSize(block: LayoutNode): LayoutNode {
  return block.pin === undefined ? { width: block.height, height: block.width } : block;
}

export function transposeLayout({ width, height, centers, routes }: LevelLayout): LevelLayout {
  const turn = ({ x, y }: LayoutPoint): LayoutPoint => ({ x: y, y: x });
  return {
    width: height,
    height: width,
    centers: centers.map(turn),
    routes: routes.map((route) => route.map(turn)),
  };
}

export const HEADER_HEIGHT_PX = 30;
const GROUP_MARGIN_PX = 18;
const AUXILIARY_GAP_PX = 56;

/** A level with where it begins inside its group, and what is inside its own open nodes. */
export interface GroupLayout extends Size {
  readonly graph: NestedGraph;
  readonly centers: readonly LayoutPoint[];
  readonly routes: readonly (readonly LayoutPoint[] | null)[];
  readonly sizes: readonly Size[];
  readonly contents: readonly (GroupLayout | null)[];
  /** Where links pass the edge of the group, by the port's name. */
  readonly ports: ReadonlyMap<string, LayoutPoint>;
}

export function layoutGroup(interior: NestedGraph, direction: Direction): GroupLayout {
  const opened = interior.nodes.map(({ content }) => content && layoutGroup(content, direction));
  const sizes = interior.nodes.map((node, place): Size => opened[place] ?? node);
  const plan = buildLevelInput(interior, sizes);
  const flowing = direction === 'down' ? plan.nodes : plan.nodes.map(transposeSize);
  const links = plan.edges.map((link, at) => {
    const own = interior.edges[plan.edgeIndices[at] ?? 0];
    return own ? { ...link, ...edgeEndOffsets(own, interior, opened, direction) } : link;
  });
  const level = layoutLevel({ nodes: flowing, edges: links });
  const layout = direction === 'down' ? level : transposeLayout(level);
  const origin = contentOrigin(plan, direction);
  const placed = placeNodes(interior, plan, layout, origin);
  const beyond = groupExtent(plan, layout, origin, direction);
  const aside = placeAuxiliaryNodes(interior, sizes, beyond, placed.centers);
  return { ...placed, graph: interior, sizes, contents: opened, ...aside };
}

/** At an open group a link is to end where it goes on inside. */
function edgeEndOffsets(
  link: NestedEdge,
  { nodes }: NestedGraph,
  opened: GroupLayout['contents'],
  direction: Direction,
): Pick<LayoutEdge, 'sourceOffset' | 'targetOffset'> {
  const [from, to] = portPositions(link, nodes, opened);
  const across = direction === 'down' ? 'x' : 'y';
  return { sourceOffset: from?.[across], targetOffset: to?.[across] };
}

/** Where a link passes the edges of the open groups at its ends, from the middles of these. */
export function portPositions(
  { source, target, portKey }: NestedEdge,
  nodes: NestedGraph['nodes'],
  opened: GroupLayout['contents'],
): [LayoutPoint | undefined, LayoutPoint | undefined] {
  const idOf = (node: number | null): string => (node === null ? portKey : (nodes[node]?.id ?? ''));
  const find = (node: number | null, name: string): LayoutPoint | undefined => {
    const inner = node === null ? null : opened[node];
    const port = inner?.ports.get(name);
    if (!inner || !port) return undefined;
    return { x: port.x - inner.width / 2, y: port.y - inner.height / 2 };
  };
  return [find(source, outPort(idOf(target))), find(target, inPort(idOf(source)))];
}

/** Ports stand on the very edge of their group; nodes keep clear of it and of the heading. */
function contentOrigin({ portNames }: LevelInput, direction: Direction): LayoutPoint {
  const hasInputs = portNames.some((name) => name.startsWith('in '));
  return direction === 'down'
    ? { x: GROUP_MARGIN_PX, y: hasInputs ? 0 : HEADER_HEIGHT_PX }
    : { x: hasInputs ? 0 : GROUP_MARGIN_PX, y: HEADER_HEIGHT_PX };
}

function groupExtent(
  { portNames }: LevelInput,
  layout: Size,
  origin: LayoutPoint,
  direction: Direction,
): Size {
  const rest = portNames.some((name) => name.startsWith('out ')) ? 0 : GROUP_MARGIN_PX;
  const [right, below] = direction === 'down' ? [GROUP_MARGIN_PX, rest] : [rest, GROUP_MARGIN_PX];
  return { width: origin.x + layout.width + right, height: origin.y + layout.height + below };
}

function placeNodes(
  { nodes, edges }: NestedGraph,
  plan: LevelInput,
  layout: LevelLayout,
  origin: LayoutPoint,
): Pick<GroupLayout, 'routes' | 'ports'> & { centers: LayoutPoint[] } {
  const move = ({ x, y }: LayoutPoint): LayoutPoint => ({ x: x + origin.x, y: y + origin.y });
  const centers: LayoutPoint[] = nodes.map(() => ({ x: 0, y: 0 }));
  const routes: (LayoutPoint[] | null)[] = edges.map(() => null);
  const ports = new Map<string, LayoutPoint>();
  layout.centers.forEach((spot, block) => {
    const node = plan.nodeIndices[block];
    if (node !== undefined) centers[node] = move(spot);
    else ports.set(plan.portNames[block - plan.nodeIndices.length] ?? '', move(spot));
  });
  layout.routes.forEach((route, at) => (routes[plan.edgeIndices[at] ?? 0] = route.map(move)));
  return { centers, routes, ports };
}

/** In columns at the right, as high as the rest. */
function placeAuxiliaryNodes(
  { nodes }: NestedGraph,
  sizes: readonly Size[],
  beside: Size,
  centers: LayoutPoint[],
): Size {
  let [left, top, column] = [
    beside.width + AUXILIARY_GAP_PX - GROUP_MARGIN_PX,
    HEADER_HEIGHT_PX,
    0,
  ];
  let { width, height } = beside;
  nodes.forEach(({ isAuxiliary }, place) => {
    const size = sizes[place];
    if (!isAuxiliary || !size) return;
    if (top > HEADER_HEIGHT_PX && top + size.height > Math.max(beside.height, 400)) {
      [left, top, column] = [left + column + GROUP_MARGIN_PX, HEADER_HEIGHT_PX, 0];
    }
    centers[place] = { x: left + size.width / 2, y: top + size.height / 2 };
    top += size.height + GROUP_MARGIN_PX / 2;
    column = Math.max(column, size.width);
    width = Math.max(width, left + column + GROUP_MARGIN_PX);
    height = Math.max(height, top + GROUP_MARGIN_PX);
  });
  return { width, height };
}

export function layoutNestedGraph(root: NestedGraph, direction: Direction): NestedLayout {
  const laid = layoutGroup(root, direction);
  const nodes: PlacedNode[] = [];
  const links: PlacedEdge[] = [];
  flattenLayout(laid, { x: 0, y: 0 }, 0, nodes, links);
  return { width: laid.width, height: laid.height, nodes, edges: links };
}

function flattenLayout(
  laid: GroupLayout,
  origin: LayoutPoint,
  depth: number,
  nodes: PlacedNode[],
  links: PlacedEdge[],
): void {
  const { graph, centers, sizes, contents } = laid;
  graph.nodes.forEach(({ id }, at) => {
    const [middle, size, inner] = [centers[at], sizes[at], contents[at]];
    if (!middle || !size) return;
    const spot = translate(middle, origin);
    nodes.push({ id, ...spot, width: size.width, height: size.height, depth });
    const corner = { x: spot.x - size.width / 2, y: spot.y - size.height / 2 };
    if (inner) flattenLayout(inner, corner, depth + 1, nodes, links);
  });
  graph.edges.forEach((link, at) => {
    const drawn = laid.routes[at];
    const route = drawn ? joinPorts(drawn, link, laid) : directRoute(link, laid);
    const placed = route.map((spot) => translate(spot, origin));
    links.push({ owner: graph.id, index: at, route: placed, isAuxiliary: !drawn });
  });
}

/** At an open group a link ends where it goes on inside, to the very spot. */
function joinPorts(
  route: readonly LayoutPoint[],
  link: NestedEdge,
  laid: GroupLayout,
): readonly LayoutPoint[] {
  const [from, to] = portPositions(link, laid.graph.nodes, laid.contents);
  const first = from && translate(from, laid.centers[link.source ?? -1]);
  const last = to && translate(to, laid.centers[link.target ?? -1]);
  return [first ?? route[0], ...route.slice(1, -1), last ?? route.at(-1)].filter(
    (spot) => spot !== undefined,
  );
}

function translate({ x, y }: LayoutPoint, by: LayoutPoint | undefined): LayoutPoint {
  return { x: x + (by?.x ?? 0), y: y + (by?.y ?? 0) };
}

function directRoute({ source, target }: NestedEdge, { centers }: GroupLayout): LayoutPoint[] {
  return [source, target].flatMap((end) => (end === null ? [] : (centers[end] ?? [])));
}
