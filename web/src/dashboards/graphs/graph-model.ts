/**
 * The parts of a graph that are loaded, converted from the columns of the responses, and what is
 * drawn of them: hidden nodes are replaced by placeholders.
 */
import type {
  BoundaryColumns,
  ChangeName,
  ChildRole,
  ChildRow,
  EdgeColumns,
  GroupResponse,
} from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/graphs';

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

// ---- What is drawn

/** What is shown of expanded groups. */
export interface VisibilityOptions {
  /** Groups whose auxiliary nodes are in the main graph. */
  readonly expandedAuxiliary: ReadonlySet<string>;
  /** Nodes that the user moved into the main graph or out of it. */
  readonly movedNodes: ReadonlySet<string>;
}

export interface VisibleGroup extends GraphGroup {
  /** Nodes that are drawn beside the main graph. */
  readonly auxiliaryIds: ReadonlySet<string>;
  /** Edges to auxiliary nodes that are not drawn, by the node that they leave or enter. */
  readonly stubs: ReadonlyMap<string, EdgeStubs>;
}

/** Labels of the hidden nodes at the other ends of the edges of a node. */
export interface EdgeStubs {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** Visible groups by the node that contains them; the root is ''. */
export type VisibleGroups = ReadonlyMap<string, VisibleGroup>;

const MORE_SUFFIX = ' rest';
const AUXILIARY_SUFFIX = ' aside';

/** Which nodes a placeholder replaces. */
export interface Placeholder {
  readonly kind: 'auxiliary' | 'notLoaded';
  readonly group: string;
}

export function parsePlaceholder(id: string): Placeholder | null {
  if (id.endsWith(AUXILIARY_SUFFIX))
    return { kind: 'auxiliary', group: id.slice(0, -AUXILIARY_SUFFIX.length) };
  if (id.endsWith(MORE_SUFFIX))
    return { kind: 'notLoaded', group: id.slice(0, -MORE_SUFFIX.length) };
  return null;
}

export const isPlaceholder = (id: string): boolean => parsePlaceholder(id) !== null;

/** A node that calls several functions, such as a loop, contains one box for each. */
export function buildVisibleGroups(
  groups: LoadedGroups,
  open: ReadonlySet<string>,
  options: VisibilityOptions,
): VisibleGroups {
  const visible = new Map<string, VisibleGroup>();
  const add = (parent: string, group: GraphGroup): void => {
    const content = buildVisibleGroup(group, options);
    visible.set(parent, content);
    for (const node of content.nodes) {
      const bodies = node.bodies.flatMap((id) => (open.has(id) ? (groups.get(id) ?? []) : []));
      const [first, second] = bodies;
      if (first) add(node.id, second ? combineBodies(node, bodies) : first);
    }
  };
  const root = groups.get('');
  if (root) add('', root);
  return visible;
}

/** Why a node is not drawn: an auxiliary node, or a group of which only a part is loaded. */
export type HiddenReason =
  | { readonly kind: 'auxiliary'; readonly node: string }
  | { readonly kind: 'notLoaded'; readonly group: string };

/**
 * Return why a node in expanded groups is not drawn; null if it is drawn or a group is not loaded.
 *
 * @param enclosing The groups that contain the node, outermost first, without the root.
 */
export function findHiddenReason(
  groups: LoadedGroups,
  { expandedAuxiliary, movedNodes }: VisibilityOptions,
  id: string,
  enclosing: readonly string[],
): HiddenReason | null {
  const levels = ['', ...enclosing];
  for (const [depth, level] of levels.entries()) {
    const group = groups.get(level);
    if (!group) return null;
    const inner = levels[depth + 1];
    const node = group.nodes.find((node) =>
      inner === undefined ? node.id === id : node.bodies.includes(inner),
    );
    if (!node) return group.nodes.length < group.total ? { kind: 'notLoaded', group: level } : null;
    if (isAuxiliary(node, movedNodes) && !expandedAuxiliary.has(level))
      return { kind: 'auxiliary', node: node.id };
  }
  return null;
}

function isAuxiliary(node: GraphNode, moved: ReadonlySet<string>): boolean {
  return (node.role !== null) !== moved.has(node.id);
}

function combineBodies(node: GraphNode, bodies: readonly GraphGroup[]): GraphGroup {
  const nodes = bodies.map(({ id, total }): GraphNode => ({
    ...node,
    id,
    label: getFunctionName(id),
    kind: 'group',
    op: '',
    opCount: total,
    bodies: [id],
    autoOpenGroups: [],
  }));
  const edges = bodies.flatMap((body, index) => listBoundaryEdges(body.edges, index));
  return { id: node.id, total: nodes.length, nodes, edges };
}

/** Return one edge for each input and output of a body, attached to the body's box. */
function listBoundaryEdges(edges: readonly GraphEdge[], body: number): GraphEdge[] {
  const byPort = new Map<string, GraphEdge>();
  for (const edge of edges) {
    if (edge.source === null) byPort.set(`in:${edge.portKey}`, { ...edge, target: body });
    else if (edge.target === null) byPort.set(`out:${edge.portKey}`, { ...edge, source: body });
  }
  return [...byPort.values()];
}

function buildVisibleGroup(
  group: GraphGroup,
  { expandedAuxiliary, movedNodes }: VisibilityOptions,
): VisibleGroup {
  const auxiliary = group.nodes.filter((node) => isAuxiliary(node, movedNodes));
  const isExpanded = expandedAuxiliary.has(group.id);
  const missing = group.total - group.nodes.length;
  const placeholders = [
    ...(auxiliary.length > 0 ? [makeAuxiliaryPlaceholder(group.id, auxiliary, isExpanded)] : []),
    ...(missing > 0 ? [makeMorePlaceholder(group.id, missing)] : []),
  ];
  const hidden = new Set(isExpanded ? [] : auxiliary);
  const shown = removeNodes(group, hidden);
  // Without edges, nodes have no place in the main graph.
  const lonely = isExpanded ? auxiliary.filter(({ role }) => role === 'lonely') : [];
  const beside = [...lonely, ...placeholders];
  return {
    ...shown,
    nodes: [...shown.nodes, ...placeholders],
    auxiliaryIds: new Set(beside.map(({ id }) => id)),
    stubs: listStubs(group, hidden),
  };
}

/** Return the ends of edges between shown and hidden nodes. */
function listStubs(
  group: GraphGroup,
  hidden: ReadonlySet<GraphNode>,
): ReadonlyMap<string, EdgeStubs> {
  const stubs = new Map<string, { inputs: string[]; outputs: string[] }>();
  if (hidden.size === 0) return stubs;
  const add = (shown: GraphNode, side: 'inputs' | 'outputs', other: GraphNode): void => {
    const own = stubs.get(shown.id) ?? { inputs: [], outputs: [] };
    own[side].push(other.label);
    stubs.set(shown.id, own);
  };
  for (const { source, target } of group.edges) {
    const from = source === null ? undefined : group.nodes[source];
    const to = target === null ? undefined : group.nodes[target];
    if (!from || !to || hidden.has(from) === hidden.has(to)) continue;
    if (hidden.has(from)) add(to, 'inputs', from);
    else add(from, 'outputs', to);
  }
  return stubs;
}

/** Remove nodes and their edges. */
function removeNodes(group: GraphGroup, hidden: ReadonlySet<GraphNode>): GraphGroup {
  if (hidden.size === 0) return group;
  const nodes = group.nodes.filter((node) => !hidden.has(node));
  const indexes = new Map(nodes.map((node, index) => [node, index]));
  const getIndex = (end: number | null): number | null | undefined => {
    const node = end === null ? undefined : group.nodes[end];
    return end === null ? null : node && indexes.get(node);
  };
  const edges = group.edges.flatMap((edge) => {
    const [source, target] = [getIndex(edge.source), getIndex(edge.target)];
    return source === undefined || target === undefined ? [] : [{ ...edge, source, target }];
  });
  return { ...group, nodes, edges };
}

const ROLE_LABELS: Readonly<Record<AuxiliaryRole | 'manual', (args: { count: number }) => string>> =
  {
    noop: m.auxiliaryNoop,
    constant: m.auxiliaryConstant,
    summary: m.auxiliarySummary,
    resource: m.auxiliaryResource,
    hub: m.auxiliaryHub,
    lonely: m.auxiliaryLonely,
    manual: m.auxiliaryManual,
  };

function makeAuxiliaryPlaceholder(
  group: string,
  nodes: readonly GraphNode[],
  isExpanded: boolean,
): GraphNode {
  const counts = new Map<AuxiliaryRole | 'manual', number>();
  for (const { role } of nodes) {
    const key = role ?? 'manual';
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const subtitle = [...counts].map(([role, count]) => ROLE_LABELS[role]({ count })).join(' · ');
  const count = nodes.length;
  const label = isExpanded ? m.auxiliaryHide({ count }) : m.auxiliaryTitle({ count });
  return makePlaceholder(`${group}${AUXILIARY_SUFFIX}`, label, subtitle);
}

function makeMorePlaceholder(group: string, count: number): GraphNode {
  return makePlaceholder(`${group}${MORE_SUFFIX}`, m.moreNodes({ count }), common.showMore);
}

function makePlaceholder(id: string, label: string, op: string): GraphNode {
  return {
    ...{ id, label, op, kind: 'placeholder', opCount: 0, firstRank: 0, lastRank: 0 },
    ...{ shape: '', dtype: '', parameters: null, role: 'lonely', structure: null, change: null },
    ...{ bodies: [], autoOpenGroups: [] },
  };
}
