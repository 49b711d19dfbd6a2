import { formatCount, formatExact, plural } from '../../../base/format';
import type { Change } from '../data/answers';
import { canOpen, type GraphLink, type GraphNode } from '../data/model';

/** A node in one line, for who cannot see it. */
export function sayNode(node: GraphNode): string {
  const what = canOpen(node) ? plural(node.leaves, 'operation') : node.op;
  const parameters = node.parameters ? plural(node.parameters, 'parameter') : '';
  return [node.label, what, node.shape, parameters, sayChange(node.change)]
    .filter((word) => word !== '')
    .join(', ');
}

/** What a link carries. */
export function sayLink(link: GraphLink): string {
  const change = sayChange(link.change);
  if (link.isControl) {
    const waits = plural(link.count, 'control dependency').replace('ys', 'ies');
    return [waits, change].filter((word) => word !== '').join(' · ');
  }
  const size = link.elements === null ? '' : `${formatCount(link.elements)} numbers`;
  const several = link.count > 1 ? `${formatExact(link.count)} tensors` : '';
  return [link.dtype, link.label, several, size, change].filter((word) => word !== '').join(' · ');
}

/** Nothing is said of what is the same. */
export function sayChange(change: Change | null): string {
  return change === null || change === 'same' ? '' : change;
}
