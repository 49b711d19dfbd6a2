import type { Spot } from '../layout/types';
import type { DrawnLink } from './drawing';
import { linkWidth } from './measures';
import { type Box, touches } from './view';

export interface Label extends Spot {
  readonly id: string;
  readonly text: string;
  /** It stands beside a line that runs straight down, else on it. */
  readonly beside: boolean;
}

export const LABEL_SIZE = 10;
const LETTER = 5.6;
const GAP = 5;
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
    const label = findPlace(drawn, taken);
    if (label) labels.push(label);
  }
  return labels;
}

function findPlace({ id, link, route }: DrawnLink, taken: Box[]): Label | null {
  const piece = longestPiece(route);
  if (!piece) return null;
  const { begin, end } = piece;
  const width = link.label.length * LETTER;
  const beside = Math.abs(end.x - begin.x) < 1;
  const shift = beside ? GAP + linkWidth(link.elements) / 2 : 0;
  for (const share of PLACES) {
    const x = begin.x + (end.x - begin.x) * bend(share) + shift;
    const y = begin.y + (end.y - begin.y) * share;
    const box = { x: beside ? x + width / 2 : x, y, width, height: LABEL_SIZE };
    if (taken.some((other) => touches(box, other))) continue;
    taken.push(box);
    return { id, x, y, text: link.label, beside };
  }
  return null;
}

function longestPiece(route: readonly Spot[]): Piece | undefined {
  const pieces = route.slice(1).map((end, at): Piece => ({ begin: route[at] ?? end, end }));
  const lengthOf = ({ begin, end }: Piece): number => Math.hypot(end.x - begin.x, end.y - begin.y);
  return pieces.sort((a, b) => lengthOf(b) - lengthOf(a))[0];
}

interface Piece {
  readonly begin: Spot;
  readonly end: Spot;
}

/** How far across a curve is that far along: it leaves and arrives slowly. */
function bend(share: number): number {
  return share * share * (3 - 2 * share);
}
