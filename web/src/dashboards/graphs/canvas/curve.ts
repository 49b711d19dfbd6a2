import type { Direction } from '../layout/nesting';
import type { Spot } from '../layout/types';

const round = (number: number): number => Math.round(number * 10) / 10;

/** The way of a link as SVG writes it: it leaves and enters along the flow and bends in between. */
export function curveOf(route: readonly Spot[], direction: Direction): string {
  const [first, ...rest] = route;
  if (!first) return '';
  let path = `M${round(first.x)} ${round(first.y)}`;
  let from = first;
  for (const to of rest) {
    path += piece(from, to, direction);
    from = to;
  }
  return path;
}

function piece(from: Spot, to: Spot, direction: Direction): string {
  const [x, y] = [round(to.x), round(to.y)];
  const isStraight = Math.abs(from.x - to.x) < 0.5 || Math.abs(from.y - to.y) < 0.5;
  if (isStraight) return `L${x} ${y}`;
  if (direction === 'down') {
    const middle = round((from.y + to.y) / 2);
    return `C${round(from.x)} ${middle} ${x} ${middle} ${x} ${y}`;
  }
  const middle = round((from.x + to.x) / 2);
  return `C${middle} ${round(from.y)} ${middle} ${y} ${x} ${y}`;
}

/** The arrow at the end of a way, and the way without the part that the arrow covers. */
export function headOf(
  route: readonly Spot[],
  direction: Direction,
  width: number,
): { readonly path: string; readonly shaft: readonly Spot[] } {
  const [tip, before] = [route.at(-1) ?? { x: 0, y: 0 }, route.at(-2) ?? { x: 0, y: 0 }];
  const [long, wide] = [5 + width, 2.5 + width];
  const isAcross = route.length === LOOP_SPOTS && tip.y === before.y;
  if (direction === 'down' && !isAcross) {
    const back = tip.y - Math.sign(tip.y - before.y || 1) * long;
    const path = `M${round(tip.x)} ${round(tip.y)}L${round(tip.x - wide)} ${round(back)}H${round(tip.x + wide)}Z`;
    return { path, shaft: [...route.slice(0, -1), { x: tip.x, y: back }] };
  }
  const back = tip.x - Math.sign(tip.x - before.x || 1) * long;
  const path = `M${round(tip.x)} ${round(tip.y)}L${round(back)} ${round(tip.y - wide)}V${round(tip.y + wide)}Z`;
  return { path, shaft: [...route.slice(0, -1), { x: back, y: tip.y }] };
}

/** A node's link to itself has so many spots and ends sideways. */
const LOOP_SPOTS = 4;
