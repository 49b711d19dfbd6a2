import type { EventRow, Finding } from '../data/answers';

const PS_PER_US = 1e6;
/** How much of what is around an event is seen with it, in its own length. */
const AROUND = 2;

type Span = readonly [number, number];

/** The window in which the events of a finding are seen, in microseconds. */
export function spanOf({ start_ps, end_ps }: Pick<Finding, 'start_ps' | 'end_ps'>): Span | null {
  return end_ps > start_ps ? [start_ps / PS_PER_US, end_ps / PS_PER_US] : null;
}

/** A window around one event, in microseconds. */
export function spanAround({ start_ps, duration_ps }: EventRow): Span {
  const room = Math.max(duration_ps * AROUND, PS_PER_US);
  return [Math.max(0, (start_ps - room) / PS_PER_US), (start_ps + duration_ps + room) / PS_PER_US];
}
