import type { Slice } from './Donut.svelte';

/** A part of a ring, as it is drawn. */
export interface RingSlice extends Slice {
  readonly share: number;
  readonly path: string;
  /** All parts that are too small to be told apart. */
  readonly isRest: boolean;
}

/** More colours than this nobody tells apart. */
const MOST = 8;
const [OUTER, INNER] = [48, 30];
const REST = 'the rest';

/** The largest parts, and one of all others together; the radius of the ring is 48. */
export function cutRing(slices: readonly Slice[]): {
  readonly slices: readonly RingSlice[];
  readonly total: number;
} {
  const sorted = slices.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  const total = sum(sorted);
  const most = sorted.length > MOST ? MOST - 1 : MOST;
  const rest = sum(sorted.slice(most));
  const named = sorted.slice(0, most).map((slice) => ({ ...slice, isRest: false }));
  const all = rest > 0 ? [...named, { name: REST, value: rest, isRest: true }] : named;
  let from = 0;
  const drawn = all.map((slice) => {
    const share = slice.value / (total || 1);
    const path = arc(from, (from += share));
    return { ...slice, share, path };
  });
  return { slices: drawn, total };
}

function sum(slices: readonly Slice[]): number {
  return slices.reduce((sum, { value }) => sum + value, 0);
}

/** A piece of the ring between two parts of a turn, from the top on. */
function arc(from: number, to: number): string {
  // A whole turn ends where it begins, and would be no arc at all.
  const end = Math.min(to, from + 0.99999);
  const large = end - from > 0.5 ? 1 : 0;
  const [a, b, c, d] = [
    point(OUTER, from),
    point(OUTER, end),
    point(INNER, end),
    point(INNER, from),
  ];
  return `M${a}A${OUTER} ${OUTER} 0 ${large} 1 ${b}L${c}A${INNER} ${INNER} 0 ${large} 0 ${d}Z`;
}

function point(radius: number, turn: number): string {
  const angle = 2 * Math.PI * turn;
  return `${(radius * Math.sin(angle)).toFixed(3)} ${(-radius * Math.cos(angle)).toFixed(3)}`;
}
