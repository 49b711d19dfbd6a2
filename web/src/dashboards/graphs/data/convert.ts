import type { BorderColumns, ChildRow, EdgeColumns, GroupRow } from './answers';
import type { GraphLink, GraphNode, Group, NodeKind } from './model';

/** Between the name of a node and that of the function that it runs. */
export const BODY = '|';

export function groupOf(row: GroupRow): Group {
  return {
    id: row.path,
    total: row.total,
    nodes: row.children.map(nodeOf),
    links: [...edgesOf(row.edges), ...bordersOf(row.ins, 'in'), ...bordersOf(row.outs, 'out')],
  };
}

function nodeOf(row: ChildRow): GraphNode {
  return {
    id: row.path,
    label: labelOf(row),
    kind: kindOf(row),
    op: row.op,
    leaves: row.nodes,
    first: row.first,
    last: row.last,
    shape: row.shape,
    dtype: row.dtype,
    parameters: row.parameters < 0 ? null : row.parameters,
    role: row.aux === '' ? null : row.aux,
    structure: row.structure < 0 ? null : row.structure,
    change: row.change,
    bodies: bodiesOf(row),
    chain: row.chain,
  };
}

/** Traces of PyTorch number their nodes, which tells nobody anything. */
function labelOf({ label, op }: ChildRow): string {
  return /^\d+$/.test(label) && op !== '' ? op : label;
}

function bodiesOf({ path, kind, functions }: ChildRow): string[] {
  if (kind === 'scope' || kind === 'series') return [path];
  return functions.map((name) => `${path}${BODY}${name}${BODY}`);
}

function kindOf({ kind, functions }: ChildRow): NodeKind {
  if (kind === 'scope') return 'group';
  return kind === 'op' && functions.length > 0 ? 'function' : kind;
}

function edgesOf(columns: EdgeColumns): GraphLink[] {
  return columns.label.map((_, at) => ({
    source: columns.source[at] ?? null,
    target: columns.target[at] ?? null,
    key: '',
    ...flowOf(columns, at),
  }));
}

function bordersOf(columns: BorderColumns, side: 'in' | 'out'): GraphLink[] {
  return columns.label.map((_, at) => {
    const child = columns.child[at] ?? null;
    const ends = side === 'in' ? { source: null, target: child } : { source: child, target: null };
    return { ...ends, key: columns.partner[at] ?? '', ...flowOf(columns, at) };
  });
}

function flowOf(
  { count, control, size, label, dtype, change }: EdgeColumns | BorderColumns,
  at: number,
): Pick<GraphLink, 'count' | 'elements' | 'isControl' | 'label' | 'dtype' | 'change'> {
  const [elements, edges] = [size[at] ?? NaN, count[at] ?? 0];
  return {
    count: edges,
    elements: Number.isNaN(elements) ? null : elements,
    isControl: edges > 0 && control[at] === edges,
    // The graphs laid over each other know what flows now, and this flows no more.
    label: change[at] === 'removed' ? '' : (label[at] ?? ''),
    dtype: dtype[at] ?? '',
    change: change[at] ?? null,
  };
}
