import type { Direction } from '../layout/nesting';
import type { DrawnNode, Drawing } from './drawing';

export type Arrow = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

type Step = 'forth' | 'back' | 'before' | 'after';

const STEPS: Readonly<Record<Direction, Readonly<Record<Arrow, Step>>>> = {
  down: { ArrowDown: 'forth', ArrowUp: 'back', ArrowLeft: 'before', ArrowRight: 'after' },
  right: { ArrowRight: 'forth', ArrowLeft: 'back', ArrowUp: 'before', ArrowDown: 'after' },
};

/** Where an arrow key leads from a node: along its links, or to who stands beside it. */
export function walk(
  drawing: Drawing,
  from: string,
  arrow: Arrow,
  direction: Direction,
): string | null {
  const node = drawing.byId.get(from);
  if (!node) return drawing.nodes.find(({ isOpen }) => !isOpen)?.id ?? null;
  const step = STEPS[direction][arrow];
  if (step === 'forth' || step === 'back') return alongLinks(drawing, node, step, direction);
  return beside(drawing, node, step, direction);
}

/** Of several ways the straightest; into an open group, on to what is read inside it. */
function alongLinks(
  drawing: Drawing,
  node: DrawnNode,
  step: 'forth' | 'back',
  direction: Direction,
): string | null {
  const [near, far] =
    step === 'forth' ? (['source', 'target'] as const) : (['target', 'source'] as const);
  const across = direction === 'down' ? 'x' : 'y';
  const ways = drawing.links
    .filter((link) => link[near] === node.id && link.owner === node.parent && link[far] !== node.id)
    .map((link) => ({ id: enter(drawing, link[far], node.id, near, far), link }))
    .flatMap(({ id, link }) => {
      const other = drawing.byId.get(id);
      return other ? [{ other, isControl: link.link.isControl }] : [];
    });
  ways.sort(
    (a, b) =>
      Number(a.isControl) - Number(b.isControl) ||
      Math.abs(a.other[across] - node[across]) - Math.abs(b.other[across] - node[across]),
  );
  return ways[0]?.other.id ?? null;
}

/** The node at the end of a link, looked for inside groups that are open. */
function enter(
  drawing: Drawing,
  id: string,
  from: string,
  near: 'source' | 'target',
  far: 'source' | 'target',
): string {
  let at = id;
  for (let node = drawing.byId.get(at); node?.isOpen; node = drawing.byId.get(at)) {
    const inner = drawing.links.find(
      (link) => link.owner === at && link[near] === from && link[far] !== from,
    );
    if (!inner) break;
    at = inner[far];
  }
  return at;
}

/** The next of those that stand in one row with it. */
function beside(
  drawing: Drawing,
  node: DrawnNode,
  step: 'before' | 'after',
  direction: Direction,
): string | null {
  const [across, along, long] =
    direction === 'down' ? (['x', 'y', 'height'] as const) : (['y', 'x', 'width'] as const);
  const sign = step === 'after' ? 1 : -1;
  const row = drawing.nodes.filter(
    (other) =>
      other.parent === node.parent &&
      sign * (other[across] - node[across]) > 0 &&
      Math.abs(other[along] - node[along]) * 2 < other[long] + node[long],
  );
  row.sort((a, b) => sign * (a[across] - b[across]));
  return row[0]?.id ?? null;
}
