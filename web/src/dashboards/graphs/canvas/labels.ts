import type { Spot } from '../layout/types';
import type { DrawnLink } from './drawing';
import { type Box, touches } from './view';

export interface Label extends Spot {
  readonly id: string;
  readonly text: string;
}

export const LABEL_SIZE = 10;
const LETTER = 5.6;
/** Where along its longest piece a label may stand, the best first. */
const PLACES = [0.5, 0.38, 0.62, 0.26, 0.74];

/**
 * What flows through links: the largest first, each where it lies upon no other. Inside a group
 * nothing is said again of what enters or leaves it.
 */
export function labelsOf(links: readonly DrawnLink[]): Label[] {
  const spoken = links.filter(
    ({ link }) =>
      link.label !== '' && !link.isControl && link.source !== null && link.target !== null,
  );
  spoken.sort((a, b) => (b.link.elements ?? 0) - (a.link.elements ?? 0));
  const [labels, taken]: [Label[], Box[]] = [[], []];
  for (const drawn of spoken) {
    const width = drawn.link.label.length * LETTER;
    const boxes = spotsAlong(drawn.route).map((spot) => ({ ...spot, width, height: LABEL_SIZE }));
    const free = boxes.find((box) => !taken.some((other) => touches(box, other)));
    if (!free) continue;
    taken.push(free);
    labels.push({ id: drawn.id, x: free.x, y: free.y, text: drawn.link.label });
  }
  return labels;
}

/** On the longest piece of a way. */
function spotsAlong(route: readonly Spot[]): Spot[] {
  const pieces = route.slice(1).map((end, at) => ({ begin: route[at] ?? end, end }));
  const lengthOf = ({ begin, end }: Piece): number => Math.hypot(end.x - begin.x, end.y - begin.y);
  const [first, ...others] = pieces;
  if (!first) return [];
  const { begin, end } = others.reduce(
    (best, piece) => (lengthOf(piece) > lengthOf(best) ? piece : best),
    first,
  );
  return PLACES.map((share) => ({
    x: begin.x + (end.x - begin.x) * bend(share),
    y: begin.y + (end.y - begin.y) * share,
  }));
}

interface Piece {
  readonly begin: Spot;
  readonly end: Spot;
}

/** How far across a curve is that far along: it leaves and arrives slowly. */
function bend(share: number): number {
  return share * share * (3 - 2 * share);
}
