import type { NeighborhoodGraph } from '../../../api/schemas';
import * as m from '../../../catalog/debugger';
import type { GraphEdge, GraphNode } from '../../graphs/graph-model';
import type { VisibleGroup, VisibleGroups } from '../../graphs/visible-graph';
import { getRoleLabel } from '../labels';

const HEALTH_LABELS = [m.healthUnknown, m.finite, m.nonFinite];

/** Return the neighborhood as a graph of one level; the path of a node is its index. */
export function toVisibleGroups(graph: NeighborhoodGraph): VisibleGroups {
  const nodes = graph.nodes.map(({ name, type, role, health }, index): GraphNode => {
    const isTensor = role !== '';
    const kind = type === '' ? getRoleLabel(role) : type;
    return {
      id: String(index),
      // The scope of an operation is mostly the same for all neighbors.
      label: isTensor ? name : (name.split('/').at(-1) ?? name),
      kind: 'op',
      op: kind === '' || !isTensor || type === '' ? kind : `${kind} · ${getRoleLabel(role)}`,
      opCount: 1,
      firstRank: index,
      lastRank: index + 1,
      shape: HEALTH_LABELS[health] ?? '',
      dtype: '',
      parameters: null,
      role: null,
      structure: null,
      change: null,
      bodies: [],
      autoOpenGroups: [],
    };
  });
  const edges = graph.edges.map(([source, target]): GraphEdge => ({
    source,
    target,
    portKey: '',
    count: 1,
    elementCount: null,
    isControl: false,
    label: '',
    dtype: '',
    change: null,
  }));
  const group: VisibleGroup = {
    ...{ id: '', total: nodes.length, nodes, edges },
    ...{ auxiliaryIds: new Set(), stubs: new Map() },
  };
  return new Map([['', group]]);
}
