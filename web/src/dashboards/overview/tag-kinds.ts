import * as common from '../../catalog/common';
import * as m from '../../catalog/overview';

/** Names of the kinds of tags, in the order of the filter. */
const KIND_LABELS = new Map([
  ['scalar', m.kindScalar],
  ['image', common.image],
  ['audio', common.audio],
  ['text', common.text],
  ['histogram', m.kindHistogram],
  ['tensor', m.kindTensor],
  ['graph', common.graph],
]);

export const KINDS: readonly string[] = [...KIND_LABELS.keys()];

export function getKindLabel(kind: string): string {
  return KIND_LABELS.get(kind) ?? kind;
}
