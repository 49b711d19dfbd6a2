import type { Slice } from './DonutChart.svelte';

/** A part of a ring, as it is drawn. */
export interface DonutSlice extends Slice {
  readonly share: number;
  readonly path: string;
  /** All parts that are too small to be told apart. */
  readonly isOther: boolean;
}

/** More colours than this nobody tells apart. */
const MAX_SLICES = 8;
const [OUTER, INNER] = [48, 30];
const OTHER = 'the rest';

/** The largest parts, and one of all others together; the radius of the ring is 48. */
export function layoutDonut(slices: readonly Slice[]): {
  readonly slices: readonly DonutSlice[];
  readonly total: number;
} {
  const sorted = slices.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  const total = sum(sorted);
  const most = sorted.length > MAX_SLICES ? MAX_SLICES - 1 : MAX_SLICES;
  const rest = sum(sorted.slice(most));
  const named = sorted.slice(0, most).map((slice) => ({ ...slice, isOther: false }));
  const all = rest > 0 ? [...named, { name: OTHER, value: rest, isOther: true }] : named;
  let from = 0;
  const drawn = all.map((slice) => {
    const share = slice.value / (total || 1);
    const path = makeArcPath(from, (from += share));
    return { ...slice, share, path };
  });
  return { slices: drawn, total };
}

function sum(slices: readonly Slice[]): number {
  return slices.reduce((sum, { value }) => sum + value, 0);
}

/** A piece of the ring between two parts of a turn, from the top on. */
function makeArcPath(from: number, to: number): string {
  // A whole turn ends where it begins, and would be no arc at all.
  const end = Math.min(to, from + 0.99999);
  const large = end - from > 0.5 ? 1 : 0;
  const [a, b, c, d] = [
    formatPoint(OUTER, from),
    formatPoint(OUTER, end),
    formatPoint(INNER, end),
    formatPoint(INNER, from),
  ];
  return `M${a}A${OUTER} ${OUTER} 0 ${large} 1 ${b}L${c}A${INNER} ${INNER} 0 ${large} 0 ${d}Z`;
}

function formatPoint(radius: number, turn: number): string {
  const angle = 2 * Math.PI * turn;
  return `${(radius * Math.sin(angle)).toFixed(3)} ${(-radius * Math.cos(angle)).toFixed(3)}`;
}
