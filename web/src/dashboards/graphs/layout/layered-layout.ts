/** The layered layout of one level: grids of similar nodes, layers, coordinates and routes. */
import {
  assignRanks,
  buildAdjacency,
  buildLayers,
  type LayeredGraph,
  listBackEdges,
  orderLayers,
  segmentKey,
} from './layering';
import {
  LAYER_GAP_PX,
  type LayoutEdge,
  type LayoutLevel,
  type LayoutNode,
  type LayoutPoint,
  type LevelLayout,
  type Size,
  NODE_GAP_PX,
} from './layout-types';

/**
 * Lay out one level from top to bottom. Layers and their order depend on the edges only, not on
 * sizes: a group that is expanded moves other nodes aside without reordering them.
 */
export function layoutLevel(level: LayoutLevel): LevelLayout {
  const folding = foldIntoGrids(level);
  return folding.unfold(layoutFoldedLevel(folding.level));
}

function layoutFoldedLevel({ nodes, edges }: LayoutLevel): LevelLayout {
  const backEdges = listBackEdges(nodes.length, edges);
  const acyclic = edges.map((edge, index) => (backEdges.has(index) ? reverseEdge(edge) : edge));
  const ranks = assignRanks(nodes, buildAdjacency(nodes.length, acyclic));
  const upward = listUpwardEdges(acyclic, ranks);
  const downward = acyclic.map((edge, index) => (upward.has(index) ? reverseEdge(edge) : edge));
  const layered = buildLayers(ranks, downward, new Set([...backEdges, ...upward]));
  const x = assignCoordinates(nodes, layered, orderLayers(layered));
  const bands = stackLayers(nodes, layered);
  const left = getLeftBorder(nodes, x);
  for (let item = 0; item < x.length; item++) x[item] = (x[item] ?? 0) - left;
  const centers = nodes.map((_, node) => ({
    x: x[node] ?? 0,
    y: bands[layered.layerOf[node] ?? 0]?.middle ?? 0,
  }));
  const isReversed = (edge: number): boolean => backEdges.has(edge) !== upward.has(edge);
  const routes = routeEdges({ nodes, edges: downward, layered, x, bands, centers, isReversed });
  return { ...getExtent(nodes, x, bands), centers, routes };
}

function reverseEdge({ source, target, sourceOffset, targetOffset }: LayoutEdge): LayoutEdge {
  return {
    source: target,
    target: source,
    sourceOffset: targetOffset,
    targetOffset: sourceOffset,
  };
}

/** Return edges that lead up because one end is a port with a fixed place. */
function listUpwardEdges(edges: readonly LayoutEdge[], ranks: Int32Array): Set<number> {
  const isUpward = ({ source, target }: LayoutEdge): boolean =>
    source !== target && (ranks[source] ?? 0) > (ranks[target] ?? 0);
  return new Set(edges.flatMap((edge, index) => (isUpward(edge) ? [index] : [])));
}

/** The vertical extent of a layer. */
interface LayerBand {
  readonly top: number;
  readonly middle: number;
  readonly bottom: number;
}

function stackLayers(nodes: readonly LayoutNode[], { layers }: LayeredGraph): LayerBand[] {
  let top = 0;
  return layers.map((layer) => {
    const height = layer.reduce((most, item) => Math.max(most, nodes[item]?.height ?? 0), 0);
    const band = { top, middle: top + height / 2, bottom: top + height };
    top += height + LAYER_GAP_PX;
    return band;
  });
}

function getLeftBorder(nodes: readonly LayoutNode[], x: Float64Array): number {
  let left = Infinity;
  x.forEach((center, item) => (left = Math.min(left, center - (nodes[item]?.width ?? 0) / 2)));
  return Number.isFinite(left) ? left : 0;
}

function getExtent(
  nodes: readonly LayoutNode[],
  x: Float64Array,
  bands: readonly LayerBand[],
): Size {
  let width = 0;
  x.forEach((center, item) => (width = Math.max(width, center + (nodes[item]?.width ?? 0) / 2)));
  return { width, height: bands.at(-1)?.bottom ?? 0 };
}

// ---- Grids

/** At least this many nodes with the same neighbors form a grid instead of one wide layer. */
const MIN_GRID_NODES = 7;
/** Edges pass between the columns, one way for inputs and one for outputs, and enter from above. */
const COLUMN_GAP_PX = 34;
const ROW_GAP_PX = 30;
/** The distance of an edge from the side of the node that it passes. */
const CHANNEL_PX = 11;
/** Width divided by height. */
const GRID_ASPECT_RATIO = 2.4;
/** Nodes with more neighbors are not put into grids, which would hide how they are connected. */
const MAX_GRID_NEIGHBORS = 2;

/** A level in which each grid is one node, and how to get back to the original nodes. */
interface GridFolding {
  readonly level: LayoutLevel;
  unfold(layout: LevelLayout): LevelLayout;
}

interface NodeGrid extends LayoutNode {
  readonly members: readonly number[];
  readonly columns: number;
  readonly cell: Size;
}

function foldIntoGrids(level: LayoutLevel): GridFolding {
  const grids = listSimilarNodes(level).map((members) => createGrid(members, level.nodes));
  if (grids.length === 0) return { level, unfold: (layout) => layout };
  const gridOf = new Map(grids.flatMap((grid) => grid.members.map((node) => [node, grid])));
  const single = level.nodes.flatMap((_, node) => (gridOf.has(node) ? [] : [node]));
  const indexes = new Map(single.map((node, index) => [node, index]));
  grids.forEach((grid, index) =>
    grid.members.forEach((node) => indexes.set(node, single.length + index)),
  );
  const nodes = [...single.flatMap((node) => level.nodes[node] ?? []), ...grids];
  const edges = level.edges.map(({ source, target, ...offsets }) => ({
    ...offsets,
    source: indexes.get(source) ?? 0,
    target: indexes.get(target) ?? 0,
  }));
  const unfold = (layout: LevelLayout): LevelLayout => {
    const centers = level.nodes.map((_, node) => {
      const center = layout.centers[indexes.get(node) ?? 0] ?? { x: 0, y: 0 };
      const grid = gridOf.get(node);
      return grid ? getPositionInGrid(grid, node, center) : center;
    });
    const routes = layout.routes.map((route, edge) =>
      extendRoute(route, level.edges[edge], centers, gridOf, level.nodes),
    );
    return { ...layout, centers, routes };
  };
  return { level: { nodes, edges }, unfold };
}

/** Return lists of nodes with the same inputs and outputs. */
function listSimilarNodes({ nodes, edges }: LayoutLevel): number[][] {
  const neighbors: string[][] = nodes.map(() => []);
  for (const { source, target } of edges) {
    neighbors[source]?.push(`>${target}`);
    neighbors[target]?.push(`<${source}`);
  }
  const byNeighbors = new Map<string, number[]>();
  nodes.forEach(({ pin }, node) => {
    const own = neighbors[node] ?? [];
    if (pin !== undefined || own.length > MAX_GRID_NEIGHBORS) return;
    const key = [...new Set(own)].sort().join();
    const members = byNeighbors.get(key);
    if (members) members.push(node);
    else byNeighbors.set(key, [node]);
  });
  return [...byNeighbors.values()].filter((members) => members.length >= MIN_GRID_NODES);
}

function createGrid(members: readonly number[], nodes: readonly LayoutNode[]): NodeGrid {
  const sizes = members.flatMap((node) => nodes[node] ?? []);
  const cell = {
    width: Math.max(...sizes.map(({ width }) => width)) + COLUMN_GAP_PX,
    height: Math.max(...sizes.map(({ height }) => height)) + ROW_GAP_PX,
  };
  const ideal = Math.sqrt((members.length * GRID_ASPECT_RATIO * cell.height) / cell.width);
  const columns = Math.min(members.length, Math.max(2, Math.round(ideal)));
  const rows = Math.ceil(members.length / columns);
  return { members, columns, cell, width: columns * cell.width, height: rows * cell.height };
}

function getPositionInGrid(
  { members, columns, cell, width, height }: NodeGrid,
  node: number,
  center: LayoutPoint,
): LayoutPoint {
  const index = members.indexOf(node);
  return {
    x: center.x - width / 2 + ((index % columns) + 0.5) * cell.width,
    y: center.y - height / 2 + (Math.floor(index / columns) + 0.5) * cell.height,
  };
}

/**
 * Continue the route of an edge from the border of a grid to the node inside. It passes beside the
 * nodes above and below: behind them, it would look like an edge of theirs.
 */
function extendRoute(
  route: readonly LayoutPoint[],
  edge: LayoutEdge | undefined,
  centers: readonly LayoutPoint[],
  gridOf: ReadonlyMap<number, NodeGrid>,
  nodes: readonly LayoutNode[],
): readonly LayoutPoint[] {
  if (!edge) return route;
  const { source, target } = edge;
  const [from, to] = [centers[source], centers[target]];
  const getHalf = (node: number): number => (nodes[node]?.height ?? 0) / 2;
  const [sourceGrid, targetGrid] = [gridOf.get(source), gridOf.get(target)];
  const [first, last] = [route[0], route.at(-1)];
  let start: LayoutPoint[] = [];
  if (sourceGrid && from && first) {
    const exit = { x: from.x, y: from.y + getHalf(source) };
    const channel = from.x + sourceGrid.cell.width / 2 - COLUMN_GAP_PX / 2 + CHANNEL_PX;
    const turn = from.y + sourceGrid.cell.height / 2;
    const isLastRow = turn > first.y - 1;
    start = isLastRow ? [exit] : [exit, { x: channel, y: turn }, { x: channel, y: first.y }];
  }
  let end: LayoutPoint[] = [];
  if (targetGrid && to && last) {
    const entry = { x: to.x, y: to.y - getHalf(target) };
    const channel = to.x - targetGrid.cell.width / 2 + COLUMN_GAP_PX / 2 - CHANNEL_PX;
    const turn = to.y - targetGrid.cell.height / 2;
    const isFirstRow = turn < last.y + 1;
    end = isFirstRow ? [entry] : [{ x: channel, y: last.y }, { x: channel, y: turn }, entry];
  }
  return [...start, ...route, ...end];
}

// ---- Routes

interface RoutingInput {
  readonly nodes: readonly LayoutNode[];
  /** All lead down. */
  readonly edges: readonly LayoutEdge[];
  readonly layered: LayeredGraph;
  readonly x: Float64Array;
  readonly bands: readonly LayerBand[];
  readonly centers: readonly LayoutPoint[];
  /** Whether the original edge leads up. */
  readonly isReversed: (edge: number) => boolean;
}

/** Distance between the ends of edges at a node; less at narrow nodes. */
const END_GAP_PX = 14;
/** Fraction of the width of a node that the ends of its edges may take. */
const END_SHARE = 0.7;
const SELF_LOOP_PX = 16;

function routeEdges(input: RoutingInput): LayoutPoint[][] {
  const { edges, layered, isReversed } = input;
  const sourceOffsets = spreadEnds(input, 'source');
  const targetOffsets = spreadEnds(input, 'target');
  return edges.map((edge, index) => {
    if (edge.source === edge.target) return makeSelfLoop(input, edge.source);
    const middle = (layered.dummyNodes[index] ?? []).flatMap((dummy) => crossLayer(input, dummy));
    const sourceOffset = edge.sourceOffset ?? sourceOffsets[index] ?? 0;
    const targetOffset = edge.targetOffset ?? targetOffsets[index] ?? 0;
    const start = getEdgeEnd(input, edge.source, sourceOffset, 'bottom');
    const end = getEdgeEnd(input, edge.target, targetOffset, 'top');
    const route = [start, ...middle, end];
    return isReversed(index) ? route.reverse() : route;
  });
}

/** Pass a layer vertically, so that the edge touches none of its nodes. */
function crossLayer({ x, layered, bands }: RoutingInput, dummy: number): LayoutPoint[] {
  const band = bands[layered.layerOf[dummy] ?? 0];
  const position = x[dummy] ?? 0;
  if (!band) return [];
  return [
    { x: position, y: band.top },
    { x: position, y: band.bottom },
  ];
}

function getEdgeEnd(
  { nodes, centers }: RoutingInput,
  node: number,
  offset: number,
  side: 'top' | 'bottom',
): LayoutPoint {
  const center = centers[node] ?? { x: 0, y: 0 };
  const half = (nodes[node]?.height ?? 0) / 2;
  return { x: center.x + offset, y: center.y + (side === 'top' ? -half : half) };
}

/** A loop at the right side of a node. */
function makeSelfLoop({ nodes, centers }: RoutingInput, node: number): LayoutPoint[] {
  const center = centers[node] ?? { x: 0, y: 0 };
  const right = center.x + (nodes[node]?.width ?? 0) / 2;
  const height = Math.min(SELF_LOOP_PX, (nodes[node]?.height ?? 0) / 2);
  return [
    { x: right, y: center.y + height / 2 },
    { x: right + SELF_LOOP_PX, y: center.y + height / 2 },
    { x: right + SELF_LOOP_PX, y: center.y - height / 2 },
    { x: right, y: center.y - height / 2 },
  ];
}

/**
 * Return the distance of each edge's end from the center of its node. Ends are in the order of the
 * items that they lead to; a vertical edge ends in the center.
 */
function spreadEnds(input: RoutingInput, end: 'source' | 'target'): number[] {
  const { edges, nodes, layered, x } = input;
  const nextItems = edges.map((edge, index) => {
    const dummies = layered.dummyNodes[index] ?? [];
    return end === 'source' ? (dummies[0] ?? edge.target) : (dummies.at(-1) ?? edge.source);
  });
  const itemsByNode = new Map<number, Set<number>>();
  edges.forEach((edge, index) => {
    const items = itemsByNode.get(edge[end]) ?? new Set<number>();
    itemsByNode.set(edge[end], items.add(nextItems[index] ?? 0));
  });
  const offsets = new Map<string, number>();
  for (const [node, items] of itemsByNode) {
    const sorted = [...items].sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
    const vertical = sorted.findIndex((item) => Math.abs((x[item] ?? 0) - (x[node] ?? 0)) < 1);
    const middle = vertical < 0 ? (sorted.length - 1) / 2 : vertical;
    const sideCount = Math.max(middle, sorted.length - 1 - middle, 0.5);
    const gap = Math.min(END_GAP_PX, ((nodes[node]?.width ?? 0) * END_SHARE) / 2 / sideCount);
    sorted.forEach((item, index) => offsets.set(`${node} ${item}`, (index - middle) * gap));
  }
  return edges.map((edge, index) => offsets.get(`${edge[end]} ${nextItems[index]}`) ?? 0);
}

// ---- Coordinates: positions within the layers, so that edges are straight

const SWEEPS = 12;
const DUMMY_WIDTH_PX = 6;
/** Weights of a segment for the position of its ends. */
const STRAIGHTNESS = { longestPath: 8, betweenDummies: 4, other: 1 };
/** Resistance of items on a longest path against overlapping items. */
const STIFFNESS = { longestInLayer: 10_000, longestPath: 100 };
const UNCONNECTED_WEIGHT = 0.01;

interface DesiredPosition {
  readonly position: number;
  readonly weight: number;
}

/** Return the center of each item along its layer. */
export function assignCoordinates(
  nodes: readonly LayoutNode[],
  layered: LayeredGraph,
  order: readonly (readonly number[])[],
): Float64Array {
  const widths = layered.layerOf.map((_, item) => nodes[item]?.width ?? DUMMY_WIDTH_PX);
  const x = new Float64Array(layered.layerOf.length);
  const gaps = order.map((layer) => getMinimumGaps(layer, widths));
  order.forEach((layer, index) => packLayer(layer, gaps[index] ?? [], x));
  const longestPaths = new LongestPaths(layered);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    const neighbors = isDown ? layered.above : layered.below;
    for (let step = 0; step < order.length; step++) {
      const index = isDown ? step : order.length - 1 - step;
      const layer = order[index] ?? [];
      const desired = layer.map((item) =>
        getDesiredPosition(item, neighbors[item] ?? [], x, longestPaths, isDown),
      );
      resolveOverlaps(desired, gaps[index] ?? []).forEach(
        (position, place) => (x[layer[place] ?? 0] = position),
      );
    }
  }
  return x.map(Math.round);
}

/** Return the distances between the centers of neighboring items. */
function getMinimumGaps(layer: readonly number[], widths: Int32Array): number[] {
  return layer.slice(1).map((item, index) => {
    const previous = layer[index] ?? 0;
    return ((widths[item] ?? 0) + (widths[previous] ?? 0)) / 2 + NODE_GAP_PX;
  });
}

/** Put the items of a layer side by side, centered. */
function packLayer(layer: readonly number[], gaps: readonly number[], x: Float64Array): void {
  let position = -gaps.reduce((sum, gap) => sum + gap, 0) / 2;
  layer.forEach((item, index) => {
    x[item] = position;
    position += gaps[index] ?? 0;
  });
}

/**
 * Return the positions nearest to the desired ones, in least squares, with at least `gaps[i]`
 * between items i and i + 1 (pool adjacent violators algorithm).
 */
function resolveOverlaps(desired: readonly DesiredPosition[], gaps: readonly number[]): number[] {
  const offsets = [0];
  for (let item = 1; item < desired.length; item++)
    offsets.push((offsets[item - 1] ?? 0) + (gaps[item - 1] ?? 0));
  const pools: Pool[] = [];
  desired.forEach(({ position, weight }, item) => {
    let pool: Pool = { sum: (position - (offsets[item] ?? 0)) * weight, weight, count: 1 };
    for (let last = pools.at(-1); last && getMean(last) >= getMean(pool); last = pools.at(-1)) {
      pool = {
        sum: last.sum + pool.sum,
        weight: last.weight + pool.weight,
        count: last.count + pool.count,
      };
      pools.pop();
    }
    pools.push(pool);
  });
  const positions = pools.flatMap((pool) => new Array<number>(pool.count).fill(getMean(pool)));
  return positions.map((position, item) => position + (offsets[item] ?? 0));
}

interface Pool {
  readonly sum: number;
  readonly weight: number;
  readonly count: number;
}

function getMean({ sum, weight }: Pool): number {
  return sum / weight;
}

/** Return the weighted median of the neighbors, corrected by the skew of the segments. */
function getDesiredPosition(
  item: number,
  neighbors: readonly number[],
  x: Float64Array,
  longestPaths: LongestPaths,
  isDown: boolean,
): DesiredPosition {
  if (neighbors.length === 0) return { position: x[item] ?? 0, weight: UNCONNECTED_WEIGHT };
  let stiffness = 0;
  const candidates = neighbors.map((other) => {
    const [upper, lower] = isDown ? [other, item] : [item, other];
    const skew = longestPaths.getSkew(upper, lower);
    stiffness = Math.max(stiffness, longestPaths.getStiffness(upper, lower));
    return {
      position: (x[other] ?? 0) + (isDown ? skew : -skew),
      weight: longestPaths.getWeight(upper, lower),
    };
  });
  return { position: getWeightedMedian(candidates), weight: stiffness };
}

/** The mean would bend every straight line a little. */
function getWeightedMedian(candidates: DesiredPosition[]): number {
  const half = candidates.reduce((sum, { weight }) => sum + weight, 0) / 2;
  candidates.sort((a, b) => a.position - b.position);
  let sum = 0;
  for (const [index, { position, weight }] of candidates.entries()) {
    sum += weight;
    if (sum > half) return position;
    if (sum === half) return (position + (candidates[index + 1]?.position ?? position)) / 2;
  }
  return 0;
}

/** The longest paths through the graph, which are drawn as straight lines. */
class LongestPaths {
  readonly #layered: LayeredGraph;
  readonly #before: LongestPathTable;
  readonly #after: LongestPathTable;
  /** Length of the longest path that leaves each layer. */
  readonly #maxLength: Int32Array;

  constructor(layered: LayeredGraph) {
    this.#layered = layered;
    this.#before = computeLongestPaths(layered.layers, layered.above, layered);
    this.#after = computeLongestPaths([...layered.layers].reverse(), layered.below, layered);
    this.#maxLength = new Int32Array(layered.layers.length);
    layered.below.forEach((lowers, upper) => {
      const layer = layered.layerOf[upper] ?? 0;
      for (const lower of lowers)
        this.#maxLength[layer] = Math.max(
          this.#maxLength[layer] ?? 0,
          this.#getLength(upper, lower),
        );
    });
  }

  getWeight(upper: number, lower: number): number {
    if (this.#isOnLongestPath(upper, lower)) return STRAIGHTNESS.longestPath;
    const { nodeCount } = this.#layered;
    const isBetweenDummies = upper >= nodeCount && lower >= nodeCount;
    return isBetweenDummies ? STRAIGHTNESS.betweenDummies : STRAIGHTNESS.other;
  }

  getStiffness(upper: number, lower: number): number {
    if (!this.#isOnLongestPath(upper, lower)) return this.getWeight(upper, lower);
    const longest = this.#maxLength[this.#layered.layerOf[upper] ?? 0] ?? 0;
    return this.#getLength(upper, lower) === longest
      ? STIFFNESS.longestInLayer
      : STIFFNESS.longestPath;
  }

  getSkew(upper: number, lower: number): number {
    return this.#layered.skew.get(segmentKey(upper, lower)) ?? 0;
  }

  #isOnLongestPath(upper: number, lower: number): boolean {
    return this.#after.neighbor[upper] === lower && this.#before.neighbor[lower] === upper;
  }

  #getLength(upper: number, lower: number): number {
    return (this.#before.length[upper] ?? 0) + (this.#after.length[lower] ?? 0);
  }
}

/** For each item the neighbor on the longest path to it, and the number of nodes on that path. */
interface LongestPathTable {
  readonly neighbor: Int32Array;
  readonly length: Int32Array;
}

function computeLongestPaths(
  layers: LayeredGraph['layers'],
  neighbors: LayeredGraph['above'],
  { layerOf, nodeCount }: LayeredGraph,
): LongestPathTable {
  const neighbor = new Int32Array(layerOf.length).fill(-1);
  const length = new Int32Array(layerOf.length);
  for (const item of layers.flat()) {
    let longest = -1;
    for (const other of neighbors[item] ?? []) {
      if ((length[other] ?? 0) <= longest) continue;
      longest = length[other] ?? 0;
      neighbor[item] = other;
    }
    // Dummy nodes do not count: an edge that passes many layers is not a longer path.
    length[item] = Math.max(0, longest) + (item < nodeCount ? 1 : 0);
  }
  return { neighbor, length };
}
