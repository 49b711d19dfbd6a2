/** The layout of nested groups: each level is laid out on its own, from the innermost one on. */
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

const PORT_WIDTH_PX = 8;
const HEADER_HEIGHT_PX = 30;
const GROUP_MARGIN_PX = 18;
const AUXILIARY_GAP_PX = 56;
/** Columns of auxiliary nodes are at least this high. */
const MIN_COLUMN_HEIGHT_PX = 400;

/** The layout of a group, relative to its upper left corner. */
interface GroupLayout extends Size {
  readonly graph: NestedGraph;
  readonly centers: readonly LayoutPoint[];
  /** Null for edges of auxiliary nodes. */
  readonly routes: readonly (readonly LayoutPoint[] | null)[];
  readonly sizes: readonly Size[];
  /** The layouts of expanded nodes. */
  readonly contents: readonly (GroupLayout | null)[];
  /** Where edges cross the border of the group, by the name of the port. */
  readonly ports: ReadonlyMap<string, LayoutPoint>;
}

export function layoutNestedGraph(root: NestedGraph, direction: Direction): NestedLayout {
  const layout = layoutGroup(root, direction);
  const nodes: PlacedNode[] = [];
  const edges: PlacedEdge[] = [];
  flattenLayout(layout, { x: 0, y: 0 }, 0, nodes, edges);
  return { width: layout.width, height: layout.height, nodes, edges };
}

function layoutGroup(graph: NestedGraph, direction: Direction): GroupLayout {
  const contents = graph.nodes.map(({ content }) => content && layoutGroup(content, direction));
  const sizes = graph.nodes.map((node, index): Size => contents[index] ?? node);
  const input = buildLevelInput(graph, sizes);
  const edges = input.edges.map((edge, index) => {
    const own = graph.edges[input.edgeIndices[index] ?? 0];
    return own ? { ...edge, ...getEndOffsets(own, graph, contents, direction) } : edge;
  });
  const isDown = direction === 'down';
  const level = layoutLevel({
    nodes: isDown ? input.nodes : input.nodes.map(transposeNode),
    edges,
  });
  const layout = isDown ? level : transposeLayout(level);
  const corner = getContentOrigin(input, direction);
  const narrow = getGroupExtent(input, layout, corner, direction);
  // To the right, ports are on the left and right border, which must not move.
  const missing = isDown ? Math.max(0, (graph.titleWidth ?? 0) - narrow.width) : 0;
  const origin = { x: corner.x + missing / 2, y: corner.y };
  const extent = { ...narrow, width: narrow.width + missing };
  const placed = placeNodes(graph, input, layout, origin);
  const size = placeAuxiliaryNodes(graph, sizes, extent, placed.centers);
  return { ...placed, graph, sizes, contents, ...size };
}

// ---- Input of a level

/** A group as one level: its nodes without the auxiliary ones, then its ports. */
interface LevelInput {
  readonly nodes: readonly LayoutNode[];
  readonly edges: readonly { readonly source: number; readonly target: number }[];
  /** The index of each edge in the group. */
  readonly edgeIndices: readonly number[];
  /** The index of each node in the group; ports have none. */
  readonly nodeIndices: readonly number[];
  readonly portNames: readonly string[];
}

const inPort = (key: string): string => `in:${key}`;
const outPort = (key: string): string => `out:${key}`;
const isInPort = (name: string): boolean => name.startsWith('in:');

function buildLevelInput({ nodes, edges }: NestedGraph, sizes: readonly Size[]): LevelInput {
  const nodeIndices = nodes.flatMap(({ isAuxiliary }, index) => (isAuxiliary ? [] : [index]));
  const nodeByIndex = new Map(nodeIndices.map((index, node) => [index, node]));
  const laidOut = edges.flatMap((edge, index) => (isLaidOut(edge, nodes) ? [{ edge, index }] : []));
  const names = laidOut.map(({ edge }) => getPortName(edge)).filter((name) => name !== null);
  const portNames = [...new Set(names)];
  const portByName = new Map(portNames.map((name, port) => [name, nodeIndices.length + port]));
  const getEnd = (index: number | null, portName: string): number =>
    (index === null ? portByName.get(portName) : nodeByIndex.get(index)) ?? 0;
  return {
    nodes: [...nodeIndices.flatMap((index) => sizes[index] ?? []), ...portNames.map(makePort)],
    edges: laidOut.map(({ edge: { source, target, portKey } }) => ({
      source: getEnd(source, inPort(portKey)),
      target: getEnd(target, outPort(portKey)),
    })),
    edgeIndices: laidOut.map(({ index }) => index),
    nodeIndices,
    portNames,
  };
}

function isLaidOut({ source, target }: NestedEdge, nodes: NestedGraph['nodes']): boolean {
  return [source, target].every((end) => end === null || nodes[end]?.isAuxiliary === false);
}

function getPortName({ source, target, portKey }: NestedEdge): string | null {
  if (source === null) return inPort(portKey);
  return target === null ? outPort(portKey) : null;
}

function makePort(name: string): LayoutNode {
  return { width: PORT_WIDTH_PX, height: 0, pin: isInPort(name) ? 'top' : 'bottom' };
}

function transposeNode(node: LayoutNode): LayoutNode {
  return node.pin === undefined ? { width: node.height, height: node.width } : node;
}

function transposeLayout({ width, height, centers, routes }: LevelLayout): LevelLayout {
  const transpose = ({ x, y }: LayoutPoint): LayoutPoint => ({ x: y, y: x });
  return {
    width: height,
    height: width,
    centers: centers.map(transpose),
    routes: routes.map((route) => route.map(transpose)),
  };
}

// ---- Ports

/** At an expanded node, an edge ends where it continues inside. */
function getEndOffsets(
  edge: NestedEdge,
  { nodes }: NestedGraph,
  contents: GroupLayout['contents'],
  direction: Direction,
): Pick<LayoutEdge, 'sourceOffset' | 'targetOffset'> {
  const { from, to } = getPortPositions(edge, nodes, contents);
  const across = direction === 'down' ? 'x' : 'y';
  return { sourceOffset: from?.[across], targetOffset: to?.[across] };
}

/** Return where an edge crosses the borders of the expanded nodes at its ends, from their centers. */
function getPortPositions(
  { source, target, portKey }: NestedEdge,
  nodes: NestedGraph['nodes'],
  contents: GroupLayout['contents'],
): { readonly from: LayoutPoint | undefined; readonly to: LayoutPoint | undefined } {
  const getId = (node: number | null): string =>
    node === null ? portKey : (nodes[node]?.id ?? '');
  const getPosition = (node: number | null, name: string): LayoutPoint | undefined => {
    const content = node === null ? null : contents[node];
    const port = content?.ports.get(name);
    if (!content || !port) return undefined;
    return { x: port.x - content.width / 2, y: port.y - content.height / 2 };
  };
  return {
    from: getPosition(source, outPort(getId(target))),
    to: getPosition(target, inPort(getId(source))),
  };
}

// ---- Positions in the group

/** Ports are on the border of their group; nodes keep a distance from it and from the header. */
function getContentOrigin({ portNames }: LevelInput, direction: Direction): LayoutPoint {
  const hasInputs = portNames.some(isInPort);
  return direction === 'down'
    ? { x: GROUP_MARGIN_PX, y: hasInputs ? 0 : HEADER_HEIGHT_PX }
    : { x: hasInputs ? 0 : GROUP_MARGIN_PX, y: HEADER_HEIGHT_PX };
}

function getGroupExtent(
  { portNames }: LevelInput,
  layout: Size,
  origin: LayoutPoint,
  direction: Direction,
): Size {
  const hasOutputs = portNames.some((name) => !isInPort(name));
  const margin = hasOutputs ? 0 : GROUP_MARGIN_PX;
  const [right, bottom] =
    direction === 'down' ? [GROUP_MARGIN_PX, margin] : [margin, GROUP_MARGIN_PX];
  return { width: origin.x + layout.width + right, height: origin.y + layout.height + bottom };
}

function placeNodes(
  { nodes, edges }: NestedGraph,
  input: LevelInput,
  layout: LevelLayout,
  origin: LayoutPoint,
): Pick<GroupLayout, 'routes' | 'ports'> & { centers: LayoutPoint[] } {
  const centers: LayoutPoint[] = nodes.map(() => ({ x: 0, y: 0 }));
  const routes: (LayoutPoint[] | null)[] = edges.map(() => null);
  const ports = new Map<string, LayoutPoint>();
  layout.centers.forEach((center, index) => {
    const node = input.nodeIndices[index];
    const placed = movePoint(center, origin);
    if (node !== undefined) centers[node] = placed;
    else ports.set(input.portNames[index - input.nodeIndices.length] ?? '', placed);
  });
  layout.routes.forEach((route, index) => {
    routes[input.edgeIndices[index] ?? 0] = route.map((point) => movePoint(point, origin));
  });
  return { centers, routes, ports };
}

/** Place auxiliary nodes in columns to the right of the others; returns the size of the group. */
function placeAuxiliaryNodes(
  { nodes }: NestedGraph,
  sizes: readonly Size[],
  main: Size,
  centers: LayoutPoint[],
): Size {
  let left = main.width + AUXILIARY_GAP_PX - GROUP_MARGIN_PX;
  let top = HEADER_HEIGHT_PX;
  let columnWidth = 0;
  let { width, height } = main;
  nodes.forEach(({ isAuxiliary }, index) => {
    const size = sizes[index];
    if (!isAuxiliary || !size) return;
    const maxBottom = Math.max(main.height, MIN_COLUMN_HEIGHT_PX);
    if (top > HEADER_HEIGHT_PX && top + size.height > maxBottom) {
      left += columnWidth + GROUP_MARGIN_PX;
      top = HEADER_HEIGHT_PX;
      columnWidth = 0;
    }
    centers[index] = { x: left + size.width / 2, y: top + size.height / 2 };
    top += size.height + GROUP_MARGIN_PX / 2;
    columnWidth = Math.max(columnWidth, size.width);
    width = Math.max(width, left + columnWidth + GROUP_MARGIN_PX);
    height = Math.max(height, top + GROUP_MARGIN_PX);
  });
  return { width, height };
}

// ---- Positions in the drawing

function flattenLayout(
  layout: GroupLayout,
  origin: LayoutPoint,
  depth: number,
  nodes: PlacedNode[],
  edges: PlacedEdge[],
): void {
  const { graph, centers, sizes, contents, routes } = layout;
  graph.nodes.forEach(({ id }, index) => {
    const [center, size, content] = [centers[index], sizes[index], contents[index]];
    if (!center || !size) return;
    const { width, height } = size;
    const placed = movePoint(center, origin);
    nodes.push({ id, ...placed, width, height, depth });
    const corner = { x: placed.x - width / 2, y: placed.y - height / 2 };
    if (content) flattenLayout(content, corner, depth + 1, nodes, edges);
  });
  graph.edges.forEach((edge, index) => {
    const route = routes[index];
    if (!route) return;
    const points = connectToPorts(route, edge, layout);
    edges.push({ owner: graph.id, index, route: points.map((point) => movePoint(point, origin)) });
  });
}

/** End the route of an edge exactly where it continues inside an expanded node. */
function connectToPorts(
  route: readonly LayoutPoint[],
  edge: NestedEdge,
  { graph, contents, centers }: GroupLayout,
): readonly LayoutPoint[] {
  const { from, to } = getPortPositions(edge, graph.nodes, contents);
  const first = from && movePoint(from, centers[edge.source ?? -1]);
  const last = to && movePoint(to, centers[edge.target ?? -1]);
  return [first ?? route[0], ...route.slice(1, -1), last ?? route.at(-1)].filter(
    (point) => point !== undefined,
  );
}

function movePoint({ x, y }: LayoutPoint, by: LayoutPoint | undefined): LayoutPoint {
  return { x: x + (by?.x ?? 0), y: y + (by?.y ?? 0) };
}
