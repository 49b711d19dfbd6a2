import type { HealthAlert, RootCause } from '../../api/schemas';
import type { Codec } from '../../lib/codecs';

/** What the details panel shows. */
export type Selection =
  | { readonly kind: 'execution'; readonly index: number }
  | { readonly kind: 'graph_execution'; readonly index: number }
  | { readonly kind: 'tensor'; readonly index: number; readonly step: number | null }
  | { readonly kind: 'value'; readonly name: string };

/** `e12` is an execution, `g34` a trace, `t5@80` a tensor at a step, `v:log` a stored tensor. */
export const selectionCodec: Codec<Selection | null> = {
  parse(text) {
    if (text.startsWith('v:')) return { kind: 'value', name: text.slice(2) };
    const match = /^([egt])(\d+)(?:@(-?\d+))?$/.exec(text);
    if (!match) return null;
    const index = Number(match[2]);
    if (match[1] === 'e') return { kind: 'execution', index };
    if (match[1] === 'g') return { kind: 'graph_execution', index };
    return { kind: 'tensor', index, step: match[3] === undefined ? null : Number(match[3]) };
  },
  format(selection) {
    if (selection === null) return '';
    if (selection.kind === 'value') return `v:${selection.name}`;
    if (selection.kind === 'execution') return `e${selection.index}`;
    if (selection.kind === 'graph_execution') return `g${selection.index}`;
    return selection.step === null
      ? `t${selection.index}`
      : `t${selection.index}@${selection.step}`;
  },
};

/** Return what an alert or the root cause is about; null if that has no details of its own. */
export function selectAlert(alert: HealthAlert | RootCause): Selection | null {
  if (alert.graph_execution !== null) {
    return { kind: 'graph_execution', index: alert.graph_execution };
  }
  if (alert.execution !== null) return { kind: 'execution', index: alert.execution };
  if (alert.tensor !== null) return { kind: 'tensor', index: alert.tensor, step: alert.step };
  return null;
}

export function isSameSelection(one: Selection | null, other: Selection | null): boolean {
  return selectionCodec.format(one) === selectionCodec.format(other);
}
