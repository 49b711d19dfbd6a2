/** A stretch of time, in picoseconds since the trace began. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Nothing happens in less than this. */
const SHORTEST_PS = 500;
/** What takes no time is looked at in the midst of what does. */
const AROUND_A_MOMENT_PS = 2e6;
/** Beyond the ends of a trace there is so much of its length to be seen. */
const AIR = 0.02;

export const lengthOf = ({ start, end }: Span): number => end - start;

/** All of a trace, with some air around it. */
export function wholeOf({ start, end }: Span): Span {
  const air = Math.max(AIR * (end - start), SHORTEST_PS);
  return { start: start - air, end: end + air };
}

/** The span enlarged or, with less than one, shrunk around a place that stays where it is. */
export function zoom({ start, end }: Span, by: number, around: number): Span {
  return { start: around + (start - around) * by, end: around + (end - around) * by };
}

export function move({ start, end }: Span, by: number): Span {
  return { start: start + by, end: end + by };
}

/** Neither so short that nothing is seen, nor longer than the whole, nor beside it. */
export function keepWithin(span: Span, whole: Span): Span {
  const length = Math.min(Math.max(lengthOf(span), SHORTEST_PS), lengthOf(whole));
  const middle = (span.start + span.end) / 2;
  const half = length / 2;
  const kept = Math.min(Math.max(middle, whole.start + half), whole.end - half);
  return { start: kept - half, end: kept + half };
}

/** Where something can be seen well: with about three times its own length around it. */
export function frame({ start, end }: Span): Span {
  const air = Math.max(end - start, AROUND_A_MOMENT_PS);
  return { start: start - air, end: end + air };
}

/** On the way from one to another; the length changes evenly in factors. */
export function between(from: Span, to: Span, share: number): Span {
  return {
    start: from.start + (to.start - from.start) * share,
    end: from.end + (to.end - from.end) * share,
  };
}

/** Whether nobody could see a difference on a screen. */
export function looksLike(one: Span, other: Span): boolean {
  const hair = lengthOf(one) / 5000;
  return Math.abs(one.start - other.start) < hair && Math.abs(one.end - other.end) < hair;
}
