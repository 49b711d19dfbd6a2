import { plural } from '../../../base/format';
import type { Pen } from '../../../charts/pen/pen';
import { canOpen, type GraphNode } from '../data/model';
import type { Size } from '../layout/types';

export const NAME_SIZE = 12;
export const FACT_SIZE = 10;
const WIDTHS = { least: 64, most: 210 };
const PADDING = 12;
const CHEVRON = 12;
const LINE = { one: 28, two: 40 };

/** What stands below the name: what it is, or how much is in it. */
export function factsOf(node: GraphNode): string {
  const parameters = node.parameters ? plural(node.parameters, 'param') : '';
  if (node.kind === 'rest') return node.op;
  const what = canOpen(node) ? plural(node.leaves, 'op') : node.op;
  const named = what.toLowerCase() === node.label.toLowerCase() ? '' : what;
  return [named, parameters].filter((fact) => fact !== '').join(' · ');
}

/** How much place a closed node takes. */
export function sizeOf(node: GraphNode, widthOf: Pen['widthOf']): Size {
  const facts = factsOf(node);
  const name = widthOf(node.label, { size: NAME_SIZE, bold: true }) + (canOpen(node) ? CHEVRON : 0);
  const text = Math.max(name, widthOf(facts, { size: FACT_SIZE }));
  const width = Math.round(Math.min(WIDTHS.most, Math.max(WIDTHS.least, text + 2 * PADDING)));
  return { width, height: facts === '' ? LINE.one : LINE.two };
}

/** A name in the width that there is: its middle goes, as its end tells it from others. */
export function shorten(text: string, room: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= room) return text;
  for (let kept = text.length - 1; kept > 2; kept--) {
    const head = Math.ceil(kept / 2);
    const short = `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
    if (widthOf(short) <= room) return short;
  }
  return '…';
}

/** How wide a link is drawn for so many numbers: four times as wide for 256 times as many. */
export function linkWidth(elements: number | null): number {
  return elements === null ? 1.2 : Math.min(9, 0.9 + 0.08 * elements ** 0.25);
}
