import { multiplesOf, niceStep } from '../../../../charts/axis/ticks';
import { lengthOf, type Span } from './span';

const UNITS = [
  ['s', 1e12],
  ['ms', 1e9],
  ['µs', 1e6],
  ['ns', 1e3],
  ['ps', 1],
] as const;

/** A mark about every so many pixels. */
const APART = 110;
/** Numbers beside marks are smaller than this. */
const LONGEST = 10_000;

export interface Mark {
  readonly at: number;
  readonly text: string;
}

/** How long something took, with the digits that matter. */
export function formatPs(ps: number): string {
  if (ps === 0) return '0';
  const size = Math.abs(ps);
  const [unit, of] = UNITS.find(([, of]) => size >= of) ?? ['ps', 1];
  const value = ps / of;
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
  return `${Number(value.toFixed(digits))} ${unit}`.replace('-', '−');
}

/** The same to the last picosecond, for who hovers. */
export function formatExactly(ps: number): string {
  const size = Math.abs(ps);
  const [unit, of] = UNITS.find(([, of]) => size >= of) ?? ['ps', 1];
  const [whole = '', rest = ''] = String(ps / of).split('.');
  return `${whole}${rest ? `.${rest}` : ''} ${unit}`;
}

/** How many marks there are along so many pixels. */
export function marksAlong(width: number): number {
  return Math.max(2, Math.round(width / APART));
}

/** When something was: in the unit of the step between marks, and to its digits. */
export function marksOf(span: Span, count: number): Mark[] {
  const step = niceStep(lengthOf(span), count);
  const furthest = Math.max(Math.abs(span.start), Math.abs(span.end));
  // In the unit of the step, unless numbers become so long that nobody reads them.
  const [unit, of] =
    UNITS.find(([, of]) => step >= of || furthest / of >= LONGEST / 1000) ?? UNITS[4];
  const digits = Math.max(0, -Math.floor(Math.log10(step / of)));
  return multiplesOf(step, [span.start, span.end]).map((at) => ({
    at,
    text: `${(at / of).toFixed(digits)} ${unit}`.replace('-', '−'),
  }));
}
