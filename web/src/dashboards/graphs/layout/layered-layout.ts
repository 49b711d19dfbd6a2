import { assignCoordinates } from './coordinate-assignment';
import { orderLayers } from './crossing-reduction';
import {
  assignRanks,
  buildAdjacency,
  buildLayers,
  type LayeredGraph,
  listBackEdges,
} from './layering';
import {
  LAYER_GAP_PX,
  type LayoutEdge,
  type LayoutLevel,
  type LayoutNode,
  type LayoutPoint,
  type LevelLayout,
} from './layout-types';

/** So many nodes with the very same neighbours stand in a grid rather than in one endless row. */
const MIN_GRID_NODES = 7;
const GRID_GAP = 10;
/** How much wider than high a grid is. */
const GRID_ASPECT_RATIO = 2.4;

/** A level in which grids of nodes stand as one block. */
export interface GridFolding {
  readonly level: LayoutLevel;
  unfold(layout: LevelLayout): LevelLayout;
}

interface NodeGrid extends LayoutNode {
  readonly members: readonly number[];
  readonly columns: number;
  readonly cell: LayoutNode;
}

export function foldIntoGrids(level: LayoutLevel): GridFolding {
  const grids = listFans(level).map((members) => createGrid(members, level.nodes));
  if (grids.length === 0) return { level, unfold: (layout) => layout };
  const inGrid = new Map(grids.flatMap((grid) => grid.members.map((node) => [node, grid])));
  const alone = level.nodes.flatMap((_, node) => (inGrid.has(node) ? [] : [node]));
  const places = new Map(alone.map((node, place) => [node, place]));
  grids.forEach((grid, at) => grid.members.forEach((node) => places.set(node, alone.length + at)));
  const blocks = [...alone.flatMap((node) => level.nodes[node] ?? []), ...grids];
  const links = level.edges.map(({ source, target, ...offsets }) => ({
    ...offsets,
    source: places.get(source) ?? 0,
    target: places.get(target) ?? 0,
  }));
  const unfold = (layout: LevelLayout): LevelLayout => {
    const middles = level.nodes.map((_, node) => {
      const middle = layout.centers[places.get(node) ?? 0] ?? { x: 0, y: 0 };
      const grid = inGrid.get(node);
      return grid ? positionInGrid(grid, node, middle) : middle;
    });
    const routes = layout.routes.map((route, link) =>
      extendRoute(route, level.edges[link], middles, inGrid, level.nodes),
    );
    return { ...layout, centers: middles, routes };
  };
  return { level: { nodes: blocks, edges: links }, unfold };
}

/** Lists of nodes that lead to the same nodes and are led to by the same ones. */
function listFans({ nodes, edges }: LayoutLevel): number[][] {
  const ends: string[][] = nodes.map(() => []);
  for (const { source, target } of edges) {
    ends[source]?.push(`>${target}`);
    ends[target]?.push(`<${source}`);
  }
  const fans = new Map<string, number[]>();
  nodes.forEach(({ pin }, node) => {
    const key = [...new Set(ends[node])].sort().join();
    // With many neighbours of their own they are no leaves, and a grid would hide how they are linked.
    if (pin !== undefined || (ends[node]?.length ?? 0) > 2) return;
    fans.set(key, [...(fans.get(key) ?? []), node]);
  });
  return [...fans.values()].filter((members) => members.length >= MIN_GRID_NODES);
}

function createGrid(members: readonly number[], blocks: readonly LayoutNode[]): NodeGrid {
  const sizes = members.flatMap((node) => blocks[node] ?? []);
  const cell = {
    width: Math.max(...sizes.map(({ width }) => width)) + GRID_GAP,
    height: Math.max(...sizes.map(({ height }) => height)) + GRID_GAP,
  };
  const across = Math.sqrt((members.length * GRID_ASPECT_RATIO * cell.height) / cell.width);
  const columns = Math.min(members.length, Math.max(2, Math.round(across)));
  const rows = Math.ceil(members.length / columns);
  return { members, columns, cell, width: columns * cell.width, height: rows * cell.height };
}

function positionInGrid(
  { members, columns, cell, width, height }: NodeGrid,
  node: number,
  at: LayoutPoint,
): LayoutPoint {
  const place = members.indexOf(node);
  return {
    x: at.x - width / 2 + ((place % columns) + 0.5) * cell.width,
    y: at.y - height / 2 + (Math.floor(place / columns) + 0.5) * cell.height,
  };
}

/** The link of a node in a grid leads on to the node itself. */
function extendRoute(
  route: readonly LayoutPoint[],
  link: LayoutEdge | undefined,
  middles: readonly LayoutPoint[],
  inGrid: ReadonlyMap<number, NodeGrid>,
  blocks: readonly LayoutNode[],
): readonly LayoutPoint[] {
  if (!link) return route;
  const { source, target } = link;
  const [from, to] = [middles[source], middles[target]];
  const half = (node: number): number => (blocks[node]?.height ?? 0) / 2;
  const begin = inGrid.has(source) && from ? [{ x: from.x, y: from.y + half(source) }] : [];
  const end = inGrid.has(target) && to ? [{ x: to.x, y: to.y - half(target) }] : [];
  return [...begin, ...route, ...end];
}

interface RoutingInput {
  readonly nodes: readonly LayoutNode[];
  /** All lead down; `isTurned` tells which were turned for that. */
  readonly edges: readonly LayoutEdge[];
  readonly layered: LayeredGraph;
  readonly x: Float64Array;
  readonly bands: readonly LayerBand[];
  readonly centers: readonly LayoutPoint[];
  readonly isReversed: (place: number) => boolean;
}

/** Ends of links stand apart by this, or by less where a node is narrow. */
const END_GAP = 14;
/** Which part of the width of a node its ends may take. */
const END_SHARE = 0.7;
const SELF_LOOP_PX = 16;

export function routeEdges(drawn: RoutingInput): LayoutPoint[][] {
  const { edges, layered, isReversed } = drawn;
  const leaving = spreadEnds(drawn, 'source');
  const arriving = spreadEnds(drawn, 'target');
  return edges.map((link, place) => {
    if (link.source === link.target) return selfLoop(drawn, link.source);
    const bends = (layered.dummyNodes[place] ?? []).flatMap((bend) => crossLayer(drawn, bend));
    const [from, to] = [link.sourceOffset ?? leaving[place], link.targetOffset ?? arriving[place]];
    const begin = edgeEnd(drawn, link.source, from ?? 0, 'bottom');
    const end = edgeEnd(drawn, link.target, to ?? 0, 'top');
    const route = [begin, ...bends, end];
    return isReversed(place) ? route.reverse() : route;
  });
}

/** Straight through the row that it passes, so that it does not touch what is in it. */
function crossLayer({ x, layered, bands }: RoutingInput, bend: number): LayoutPoint[] {
  const band = bands[layered.layerOf[bend] ?? 0];
  const at = x[bend] ?? 0;
  return band
    ? [
        { x: at, y: band.top },
        { x: at, y: band.bottom },
      ]
    : [];
}

function edgeEnd(
  { nodes, centers }: RoutingInput,
  node: number,
  offset: number,
  side: 'top' | 'bottom',
): LayoutPoint {
  const middle = centers[node] ?? { x: 0, y: 0 };
  const half = (nodes[node]?.height ?? 0) / 2;
  return { x: middle.x + offset, y: middle.y + (side === 'top' ? -half : half) };
}

/** Out of the right side and back into it. */
function selfLoop({ nodes, centers }: RoutingInput, node: number): LayoutPoint[] {
  const middle = centers[node] ?? { x: 0, y: 0 };
  const right = middle.x + (nodes[node]?.width ?? 0) / 2;
  const reach = Math.min(SELF_LOOP_PX, (nodes[node]?.height ?? 0) / 2);
  return [
    { x: right, y: middle.y + reach / 2 },
    { x: right + SELF_LOOP_PX, y: middle.y + reach / 2 },
    { x: right + SELF_LOOP_PX, y: middle.y - reach / 2 },
    { x: right, y: middle.y - reach / 2 },
  ];
}

/**
 * How far from the middle of its node each link ends: in the order in which they go on, with the
 * one that leads straight on in the middle.
 */
function spreadEnds(drawn: RoutingInput, end: 'source' | 'target'): number[] {
  const { edges, nodes, layered, x } = drawn;
  const isSource = end === 'source';
  const onward = edges.map((link, place) => {
    const bends = layered.dummyNodes[place] ?? [];
    return isSource ? (bends[0] ?? link.target) : (bends.at(-1) ?? link.source);
  });
  const byNode = new Map<number, Set<number>>();
  edges.forEach((link, place) => {
    const found = byNode.get(link[end]) ?? new Set<number>();
    byNode.set(link[end], found.add(onward[place] ?? 0));
  });
  const offsets = new Map<string, number>();
  for (const [node, items] of byNode) {
    const sorted = [...items].sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
    const ahead = sorted.findIndex((item) => Math.abs((x[item] ?? 0) - (x[node] ?? 0)) < 1);
    const centre = ahead < 0 ? (sorted.length - 1) / 2 : ahead;
    const sides = Math.max(centre, sorted.length - 1 - centre, 0.5);
    const gap = Math.min(END_GAP, ((nodes[node]?.width ?? 0) * END_SHARE) / 2 / sides);
    sorted.forEach((item, at) => offsets.set(`${node} ${item}`, (at - centre) * gap));
  }
  return edges.map((link, place) => offsets.get(`${link[end]} ${onward[place]}`) ?? 0);
}

/**
 * Lays out one level from top to bottom. Which row a node is in and who stands beside whom depends
 * on links alone, not on sizes: a group that is opened pushes others aside and reorders none.
 */
export function layoutLevel(level: LayoutLevel): LevelLayout {
  const folded = foldIntoGrids(level);
  return folded.unfold(layoutFoldedLevel(folded.level));
}

function layoutFoldedLevel({ nodes, edges }: LayoutLevel): LevelLayout {
  const backward = listBackEdges(nodes.length, edges);
  const downward = edges.map((link, place) => (backward.has(place) ? reverseEdge(link) : link));
  const ranks = assignRanks(nodes, buildAdjacency(nodes.length, downward));
  const lying = listUpwardEdges(downward, ranks);
  const drawn = downward.map((link, place) => (lying.has(place) ? reverseEdge(link) : link));
  const rows = buildLayers(ranks, drawn, new Set([...backward, ...lying]));
  const order = orderLayers(rows);
  const x = assignCoordinates(nodes, rows, order);
  const bands = stackLayers(nodes, rows);
  const shift = leftEdge(nodes, x);
  for (let item = 0; item < x.length; item++) x[item] = (x[item] ?? 0) - shift;
  const middles = nodes.map((_, node) => ({
    x: x[node] ?? 0,
    y: bands[rows.layerOf[node] ?? 0]?.middle ?? 0,
  }));
  const isTurned = (place: number): boolean => backward.has(place) !== lying.has(place);
  const routes = routeEdges({
    nodes,
    edges: drawn,
    layered: rows,
    x,
    bands,
    centers: middles,
    isReversed: isTurned,
  });
  return { ...levelExtent(nodes, x, bands), centers: middles, routes };
}

export interface LayerBand {
  readonly top: number;
  readonly middle: number;
  readonly bottom: number;
}

function reverseEdge({ source, target, sourceOffset, targetOffset }: LayoutEdge): LayoutEdge {
  return {
    source: target,
    target: source,
    sourceOffset: targetOffset,
    targetOffset: sourceOffset,
  };
}

/** Links that lead up since one end is a port, which has no choice where it stands. */
function listUpwardEdges(links: readonly LayoutEdge[], ranks: Int32Array): Set<number> {
  const isUp = ({ source, target }: LayoutEdge): boolean =>
    source !== target && (ranks[source] ?? 0) > (ranks[target] ?? 0);
  return new Set(links.flatMap((link, place) => (isUp(link) ? [place] : [])));
}

function stackLayers(blocks: readonly LayoutNode[], { layers }: LayeredGraph): LayerBand[] {
  let top = 0;
  return layers.map((row) => {
    const height = row.reduce((most, item) => Math.max(most, blocks[item]?.height ?? 0), 0);
    const band = { top, middle: top + height / 2, bottom: top + height };
    top += height + LAYER_GAP_PX;
    return band;
  });
}

function leftEdge(blocks: readonly LayoutNode[], x: Float64Array): number {
  let left = Infinity;
  x.forEach((at, item) => (left = Math.min(left, at - (blocks[item]?.width ?? 0) / 2)));
  return Number.isFinite(left) ? left : 0;
}

function levelExtent(
  blocks: readonly LayoutNode[],
  x: Float64Array,
  bands: readonly LayerBand[],
): { width: number; height: number } {
  let width = 0;
  x.forEach((at, item) => (width = Math.max(width, at + (blocks[item]?.width ?? 0) / 2)));
  return { width, height: bands.at(-1)?.bottom ?? 0 };
}
