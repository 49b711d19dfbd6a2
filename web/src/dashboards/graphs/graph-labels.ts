import { groupOptions, type OptionGroup } from '../../components/combobox-options';
import { formatCount, formatInteger, formatPlural } from '../../lib/format';
import { type GraphEdge, type GraphNode, isExpandable } from './graph-model';
import type { ChangeName, GraphRow } from './schemas';

/** A node in one line, for who cannot see it. */
export function describeNode(node: GraphNode): string {
  const what = isExpandable(node) ? formatPlural(node.opCount, 'operation') : node.op;
  const parameters = node.parameters ? formatPlural(node.parameters, 'parameter') : '';
  return [node.label, what, node.shape, parameters, changeLabel(node.change)]
    .filter((word) => word !== '')
    .join(', ');
}

/** What a link carries. */
export function describeEdge(link: GraphEdge): string {
  const change = changeLabel(link.change);
  if (link.isControl) {
    const waits = formatPlural(link.count, 'control dependency').replace('ys', 'ies');
    return [waits, change].filter((word) => word !== '').join(' · ');
  }
  const size = link.elementCount === null ? '' : `${formatCount(link.elementCount)} numbers`;
  const several = link.count > 1 ? `${formatInteger(link.count)} tensors` : '';
  return [link.dtype, link.label, several, size, change].filter((word) => word !== '').join(' · ');
}

/** Nothing is said of what is the same. */
export function changeLabel(change: ChangeName | null): string {
  return change === null || change === 'same' ? '' : change;
}

const GRAPH_KIND_LABELS: Readonly<Record<GraphRow['kind'], string>> = {
  op: 'operations',
  profile: 'profile',
  conceptual: 'layers',
  upload: 'your file',
};

export type RunLabeler = (run: string) => string;

export function graphName(row: GraphRow, labelOf: RunLabeler): string {
  return row.run === '' ? row.title : `${labelOf(row.run)} · ${row.title}`;
}

/** Graphs to choose from, by the runs that logged them. */
export function graphOptions(
  rows: readonly GraphRow[],
  chosen: GraphRow | undefined,
  labelOf: RunLabeler,
): OptionGroup[] {
  return groupOptions(
    rows,
    ({ run }) => (run === '' ? 'Files' : labelOf(run)),
    (row) => ({
      key: row.id,
      label: graphName(row, labelOf),
      hint: GRAPH_KIND_LABELS[row.kind],
      selected: row.id === chosen?.id,
    }),
  );
}
