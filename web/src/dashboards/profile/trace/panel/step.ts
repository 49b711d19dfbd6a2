import type { StepsColumns } from '../data/answers';

/** What the step is called in which a moment is; empty where it is in none. */
export function stepOf(steps: StepsColumns | undefined, moment: number): string {
  const at = steps?.start.findLastIndex((start) => start <= moment) ?? -1;
  if (!steps || at < 0 || moment >= (steps.end[at] ?? 0)) return '';
  return steps.names[at] ?? '';
}
