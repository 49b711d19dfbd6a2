import type { StepsAnswer } from '../data/answers';

/** One part of all steps; in milliseconds. */
export interface Layer {
  readonly name: string;
  readonly label: string;
  readonly ms: Float64Array;
}

/** The parts from the bottom up, those that nothing is in left out. */
export function layersOf({ parts, other }: StepsAnswer): Layer[] {
  const layers = parts.map(({ name, label, counted }) => ({ name, label, ms: counted }));
  return [...layers, { name: 'other', label: 'all others', ms: other }].filter(({ ms }) =>
    ms.some((each) => each > 0),
  );
}

/** What stands in one column of the picture: a step, or the longest of several. */
export interface Column {
  /** Which step it shows. */
  readonly step: number;
  readonly left: number;
  readonly width: number;
}

/** Narrower columns could not be told apart. */
const NARROWEST = 3;
/** Wider ones would be walls. */
const WIDEST = 90;
const GAP = 1;

/** Columns over a width; where steps are more than fit, the longest of its neighbours is shown. */
export function columnsOf(total: Float64Array, width: number): Column[] {
  const count = Math.min(total.length, Math.max(1, Math.floor(width / NARROWEST)));
  const each = Math.min(WIDEST, width / count);
  return Array.from({ length: count }, (_, at) => ({
    step: longestOf(total, (at * total.length) / count, ((at + 1) * total.length) / count),
    left: at * each,
    width: Math.max(1, each - (each > 2 * NARROWEST ? GAP : 0)),
  }));
}

function longestOf(total: Float64Array, from: number, to: number): number {
  let longest = Math.floor(from);
  for (let step = longest + 1; step < Math.floor(to); step++)
    if ((total[step] ?? 0) > (total[longest] ?? 0)) longest = step;
  return longest;
}

/** Where most steps end: one that waited for the compiler must not make all others flat. */
export function heightOf(totals: readonly Float64Array[]): number {
  const all = Float64Array.from(totals.flatMap((total) => [...total])).sort();
  const longest = all.at(-1) ?? 0;
  const usual = all[Math.floor(all.length * USUAL)] ?? longest;
  return (longest > OUTLIER * usual ? 1.5 * usual : longest) || 1;
}

/** Of so many steps the longest says how high the picture is. */
const USUAL = 0.9;
const OUTLIER = 4;
