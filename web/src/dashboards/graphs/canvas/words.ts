import { formatCount, formatExact, plural } from '../../../base/format';
import { canOpen, type GraphLink, type GraphNode } from '../data/model';

const CHANGES = { same: '', added: 'added', removed: 'removed', changed: 'changed' } as const;

/** A node in one line, for who cannot see it. */
export function sayNode(node: GraphNode): string {
  const what = canOpen(node) ? plural(node.leaves, 'operation') : node.op;
  const parameters = node.parameters ? plural(node.parameters, 'parameter') : '';
  const change = node.change ? CHANGES[node.change] : '';
  return [node.label, what, node.shape, parameters, change]
    .filter((word) => word !== '')
    .join(', ');
}

/** What a link carries. */
export function sayLink(link: GraphLink): string {
  if (link.isControl) return plural(link.count, 'control dependency').replace('ys', 'ies');
  const size = link.elements === null ? '' : `${formatCount(link.elements)} numbers`;
  const several = link.count > 1 ? `${formatExact(link.count)} tensors` : '';
  return [link.dtype, link.label, several, size].filter((word) => word !== '').join(' · ');
}
