import type {
  BoundaryColumns,
  ChangeName,
  ChildRow,
  ColoringResponse,
  EdgeColumns,
  GroupResponse,
} from './schemas';

/** A graph as the page knows it: the groups that somebody opened, and what they hold. */

/** `function` runs a body that can be opened; `rest` stands for nodes that are not shown. */
export type NodeKind = 'op' | 'group' | 'series' | 'function' | 'input' | 'output' | 'rest';

/** Why a node better stands aside. */
export type AuxiliaryRole = 'noop' | 'constant' | 'summary' | 'resource' | 'hub' | 'lonely';

export interface GraphNode {
  /** Where it is: all scopes and its own name. */
  readonly id: string;
  /** Its own name. */
  readonly label: string;
  readonly kind: NodeKind;
  readonly op: string;
  /** How many operations are in it, and where they stand in the order of all. */
  readonly opCount: number;
  readonly firstRank: number;
  readonly lastRank: number;
  /** Of the tensor that it gives, or the first of them. */
  readonly shape: string;
  readonly dtype: string;
  /** Trained numbers in it; null where nobody counted. */
  readonly parameters: number | null;
  readonly role: AuxiliaryRole | null;
  /** The same number for groups that look alike inside. */
  readonly structure: number | null;
  readonly change: ChangeName | null;
  /** Groups to ask for when it is opened; the bodies of functions have names of their own. */
  readonly bodies: readonly string[];
  /** Groups inside that are best opened along with it. */
  readonly autoOpenGroups: readonly string[];
}

/** A link of one level. Where one end is null it goes on outside the group, to or from `key`. */
export interface GraphEdge {
  readonly source: number | null;
  readonly target: number | null;
  readonly portKey: string;
  /** How many tensors, or orders to wait, it stands for. */
  readonly count: number;
  /** How many numbers flow; null where that is not known. */
  readonly elementCount: number | null;
  /** Nothing flows, but the order of the two matters. */
  readonly isControl: boolean;
  readonly label: string;
  readonly dtype: string;
  /** In a comparison. */
  readonly change: ChangeName | null;
}

export interface GraphGroup {
  readonly id: string;
  /** How many nodes it has, of which `nodes` may be the first. */
  readonly total: number;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export const isExpandable = ({ kind }: GraphNode): boolean =>
  kind === 'group' || kind === 'series' || kind === 'function';

/** Between the name of a node and that of the function that it runs. */
export const BODY_SEPARATOR = '|';

export function toGraphGroup(row: GroupResponse): GraphGroup {
  return {
    id: row.path,
    total: row.total,
    nodes: row.children.map(toGraphNode),
    edges: [
      ...toEdges(row.edges),
      ...toBoundaryEdges(row.ins, 'in'),
      ...toBoundaryEdges(row.outs, 'out'),
    ],
  };
}

function toGraphNode(row: ChildRow): GraphNode {
  return {
    id: row.path,
    label: nodeLabel(row),
    kind: nodeKind(row),
    op: row.op,
    opCount: row.nodes,
    firstRank: row.first,
    lastRank: row.last,
    shape: row.shape,
    dtype: row.dtype,
    parameters: row.parameters < 0 ? null : row.parameters,
    role: row.aux === '' ? null : row.aux,
    structure: row.structure < 0 ? null : row.structure,
    change: row.change,
    bodies: listBodies(row),
    autoOpenGroups: row.chain,
  };
}

/** Traces of PyTorch number their nodes, which tells nobody anything. */
function nodeLabel({ label, op }: ChildRow): string {
  return /^\d+$/.test(label) && op !== '' ? op : label;
}

function listBodies({ path, kind, functions }: ChildRow): string[] {
  if (kind === 'scope' || kind === 'series') return [path];
  return functions.map((name) => `${path}${BODY_SEPARATOR}${name}${BODY_SEPARATOR}`);
}

function nodeKind({ kind, functions }: ChildRow): NodeKind {
  if (kind === 'scope') return 'group';
  return kind === 'op' && functions.length > 0 ? 'function' : kind;
}

function toEdges(columns: EdgeColumns): GraphEdge[] {
  return columns.label.map((_, at) => ({
    source: columns.source[at] ?? null,
    target: columns.target[at] ?? null,
    portKey: '',
    ...edgeFields(columns, at),
  }));
}

function toBoundaryEdges(columns: BoundaryColumns, side: 'in' | 'out'): GraphEdge[] {
  return columns.label.map((_, at) => {
    const child = columns.child[at] ?? null;
    const ends = side === 'in' ? { source: null, target: child } : { source: child, target: null };
    return { ...ends, portKey: columns.partner[at] ?? '', ...edgeFields(columns, at) };
  });
}

function edgeFields(
  { count, control, size, label, dtype, change }: EdgeColumns | BoundaryColumns,
  at: number,
): Pick<GraphEdge, 'count' | 'elementCount' | 'isControl' | 'label' | 'dtype' | 'change'> {
  const [elements, edges] = [size[at] ?? NaN, count[at] ?? 0];
  return {
    count: edges,
    elementCount: Number.isNaN(elements) ? null : elements,
    isControl: edges > 0 && control[at] === edges,
    // The graphs laid over each other know what flows now, and this flows no more.
    label: change[at] === 'removed' ? '' : (label[at] ?? ''),
    dtype: dtype[at] ?? '',
    change: change[at] ?? null,
  };
}

/** Maps and sets that are made anew rather than changed, so that who reads them is told. */

export type LoadedGroups = ReadonlyMap<string, GraphGroup>;
export type Colorings = ReadonlyMap<string, ColoringResponse>;

export const NO_GROUPS: LoadedGroups = new Map();
export const NO_COLORINGS: Colorings = new Map();

export function addGroups(known: LoadedGroups, rows: readonly GroupResponse[]): LoadedGroups {
  return new Map([...known, ...rows.map((row) => [row.path, toGraphGroup(row)] as const)]);
}

export function addColoring(paints: Colorings, key: string, paint: ColoringResponse): Colorings {
  return new Map([...paints, [key, paint]]);
}

export function toReadonlySet<Item>(items: Iterable<Item>): ReadonlySet<Item> {
  return new Set(items);
}

/** For each node the group that it came with, and its place there. */
export function indexNodes(
  known: LoadedGroups,
): ReadonlyMap<string, { readonly group: string; readonly place: number }> {
  const places = new Map<string, { group: string; place: number }>();
  for (const [group, { nodes }] of known)
    nodes.forEach(({ id }, place) => places.set(id, { group, place }));
  return places;
}

/** Some operations of a graph, or of one body, by where they stand in the order of all. */
export interface RankRanges {
  /** Up to which part of a path they are in one body; empty for the graph itself. */
  readonly body: string;
  readonly first: ArrayLike<number>;
  readonly last: ArrayLike<number>;
}

/** In which body something is. */
export function functionBodyOf(path: string): string {
  return path.slice(0, path.lastIndexOf(BODY_SEPARATOR) + 1);
}

/** Whether any of the operations are the node, or are in it. */
export function rangesTouchNode(ranks: RankRanges, node: GraphNode): boolean {
  if (functionBodyOf(node.id) === ranks.body)
    return rangesOverlap(ranks, node.firstRank, node.lastRank);
  return ranks.body.startsWith(`${node.id}${BODY_SEPARATOR}`) || node.bodies.includes(ranks.body);
}

/** Ranges are in order and do not touch, so the first that ends behind `first` decides. */
function rangesOverlap({ first, last }: RankRanges, from: number, to: number): boolean {
  let [low, high] = [0, last.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((last[middle] ?? 0) > from) high = middle;
    else low = middle + 1;
  }
  return low < last.length && (first[low] ?? Infinity) < to;
}
