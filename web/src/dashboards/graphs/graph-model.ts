/** The parts of a graph that are loaded, converted from the columns of the responses. */
import type {
  BoundaryColumns,
  ChangeName,
  ChildRole,
  ChildRow,
  EdgeColumns,
  GroupResponse,
} from '../../api/schemas';

/** A `function` calls a body that can be expanded; a `placeholder` replaces hidden nodes. */
export type NodeKind = 'op' | 'group' | 'series' | 'function' | 'input' | 'output' | 'placeholder';

/** Why a node is drawn beside the main graph. */
export type AuxiliaryRole = Exclude<ChildRole, ''>;

export interface GraphNode {
  /** The path: all scopes and the name. */
  readonly id: string;
  /** The last part of the path. */
  readonly label: string;
  readonly kind: NodeKind;
  readonly op: string;
  /** Number of operations inside; their ranks are from `firstRank` to before `lastRank`. */
  readonly opCount: number;
  readonly firstRank: number;
  readonly lastRank: number;
  /** Shape and type of the first output. */
  readonly shape: string;
  readonly dtype: string;
  /** Number of trainable values inside; null if unknown. */
  readonly parameters: number | null;
  readonly role: AuxiliaryRole | null;
  /** Equal for groups with the same structure; null if it is unique. */
  readonly structure: number | null;
  readonly change: ChangeName | null;
  /** Groups that are shown when the node is expanded: itself, or the bodies that it calls. */
  readonly bodies: readonly string[];
  /** Groups to expand together with it. */
  readonly autoOpenGroups: readonly string[];
}

/**
 * An edge between two nodes of a group, given by their indexes. If one end is null, the edge
 * crosses the boundary of the group, from or to the node `portKey`.
 */
export interface GraphEdge {
  readonly source: number | null;
  readonly target: number | null;
  readonly portKey: string;
  /** Number of tensors or control dependencies. */
  readonly count: number;
  /** Number of elements of the tensors; null if unknown. */
  readonly elementCount: number | null;
  readonly isControl: boolean;
  readonly label: string;
  readonly dtype: string;
  readonly change: ChangeName | null;
}

export interface GraphGroup {
  readonly id: string;
  /** Number of nodes in the graph, of which `nodes` may be the first. */
  readonly total: number;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** Groups by path; the root is ''. */
export type LoadedGroups = ReadonlyMap<string, GraphGroup>;

export const isExpandable = ({ kind }: GraphNode): boolean =>
  kind === 'group' || kind === 'series' || kind === 'function';

// ---- Paths

/** Separates the path of a call, the name of the function and a path in its body. */
const BODY_SEPARATOR = '|';

/** Return the path of the body of a function at the node that calls it. */
export function makeBodyPath(caller: string, name: string): string {
  return `${caller}${BODY_SEPARATOR}${name}${BODY_SEPARATOR}`;
}

export function getFunctionName(body: string): string {
  return body.split(BODY_SEPARATOR).at(-2) ?? body;
}

export function isInsideGroup(path: string, group: string): boolean {
  const prefixes = group.endsWith(BODY_SEPARATOR)
    ? [group]
    : [`${group}/`, `${group}${BODY_SEPARATOR}`];
  return path === group || prefixes.some((prefix) => path.startsWith(prefix));
}

// ---- Conversion of responses

export function toGraphGroup(row: GroupResponse): GraphGroup {
  return {
    id: row.path,
    total: row.total,
    nodes: row.children.map(toGraphNode),
    edges: [
      ...toEdges(row.edges),
      ...toBoundaryEdges(row.incoming, 'in'),
      ...toBoundaryEdges(row.outgoing, 'out'),
    ],
  };
}

function toGraphNode(row: ChildRow): GraphNode {
  return {
    id: row.path,
    label: getNodeLabel(row),
    kind: getNodeKind(row),
    op: row.op,
    opCount: row.nodes,
    firstRank: row.first,
    lastRank: row.last,
    shape: row.shape,
    dtype: row.dtype,
    parameters: row.parameters < 0 ? null : row.parameters,
    role: row.role === '' ? null : row.role,
    structure: row.structure_id < 0 ? null : row.structure_id,
    change: row.change,
    bodies: listBodies(row),
    autoOpenGroups: row.single_child_chain,
  };
}

/** Nodes of PyTorch traces are numbered; the operation says more. */
function getNodeLabel({ label, op }: ChildRow): string {
  return /^\d+$/.test(label) && op !== '' ? op : label;
}

function listBodies({ path, kind, functions }: ChildRow): string[] {
  if (kind === 'scope' || kind === 'series') return [path];
  return functions.map((name) => makeBodyPath(path, name));
}

function getNodeKind({ kind, functions }: ChildRow): NodeKind {
  if (kind === 'scope') return 'group';
  return kind === 'op' && functions.length > 0 ? 'function' : kind;
}

function toEdges(columns: EdgeColumns): GraphEdge[] {
  return columns.label.map((_, row) => ({
    source: columns.source[row] ?? null,
    target: columns.target[row] ?? null,
    portKey: '',
    ...getEdgeFields(columns, row),
  }));
}

function toBoundaryEdges(columns: BoundaryColumns, side: 'in' | 'out'): GraphEdge[] {
  return columns.label.map((_, row) => {
    const child = columns.child[row] ?? null;
    const ends = side === 'in' ? { source: null, target: child } : { source: child, target: null };
    return { ...ends, portKey: columns.partner[row] ?? '', ...getEdgeFields(columns, row) };
  });
}

function getEdgeFields(
  { count, control, size, label, dtype, change }: EdgeColumns | BoundaryColumns,
  row: number,
): Pick<GraphEdge, 'count' | 'elementCount' | 'isControl' | 'label' | 'dtype' | 'change'> {
  const elementCount = size[row] ?? NaN;
  const edgeCount = count[row] ?? 0;
  return {
    count: edgeCount,
    elementCount: Number.isNaN(elementCount) ? null : elementCount,
    isControl: edgeCount > 0 && control[row] === edgeCount,
    // The label is the tensor of the second graph, which does not have the edge.
    label: change[row] === 'removed' ? '' : (label[row] ?? ''),
    dtype: dtype[row] ?? '',
    change: change[row] ?? null,
  };
}

// ---- Lookups

export interface NodePosition {
  readonly group: string;
  readonly index: number;
}

/** Return the group of each loaded node, and its index there. */
export function indexNodes(groups: LoadedGroups): ReadonlyMap<string, NodePosition> {
  const positions = new Map<string, NodePosition>();
  for (const [group, { nodes }] of groups)
    nodes.forEach(({ id }, index) => positions.set(id, { group, index }));
  return positions;
}

/** Operations of the graph, or of one function body, as sorted ranges of ranks. */
export interface RankRanges {
  /** Path of the body; empty for the graph itself. */
  readonly body: string;
  readonly first: ArrayLike<number>;
  readonly last: ArrayLike<number>;
}

/** Return whether one of the operations is the node or inside it. */
export function rangesTouchNode(ranges: RankRanges, node: GraphNode): boolean {
  const body = node.id.slice(0, node.id.lastIndexOf(BODY_SEPARATOR) + 1);
  if (body === ranges.body) return rangesOverlap(ranges, node.firstRank, node.lastRank);
  return ranges.body.startsWith(`${node.id}${BODY_SEPARATOR}`) || node.bodies.includes(ranges.body);
}

/** The ranges do not overlap, so the first one that ends after `from` decides. */
function rangesOverlap({ first, last }: RankRanges, from: number, to: number): boolean {
  let [low, high] = [0, last.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((last[middle] ?? 0) > from) high = middle;
    else low = middle + 1;
  }
  return low < last.length && (first[low] ?? Infinity) < to;
}
