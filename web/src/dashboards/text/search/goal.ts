import type { TextHit } from '../../../api/text';
import type { RunSteps } from '../../../wall/steps/steps';

/** A hit inside of one text: its line, and how many hits of the same text come before it. */
export interface Goal {
  readonly line: number;
  readonly before: number;
}

/** The hit at a place in the list, if it is in that text. */
export function goalIn(
  hits: readonly TextHit[],
  at: number,
  steps: RunSteps,
  place: number,
): Goal | null {
  const hit = hits[at];
  const isIn = (hit: TextHit): boolean =>
    hit.run === steps.run && hit.tag === steps.tag && hit.index === steps.index[place];
  if (!hit || !isIn(hit)) return null;
  return { line: hit.line, before: hits.slice(0, at).filter(isIn).length };
}
