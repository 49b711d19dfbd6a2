import type { DebugSourceRow } from '../api/schemas';
import * as m from '../catalog/scalars';
import type { Annotation } from '../charts/types';
import type { XAxis } from '../plugin/context';

/** More marks would hide the lines. */
const MAX_MARKS = 12;

/** Return a mark at the step of the first numerical problem of each run that has one. */
export function makeDebuggerMarks(
  rows: readonly Pick<DebugSourceRow, 'name' | 'run' | 'problem_step'>[],
  runs: readonly string[],
  axis: XAxis,
): readonly Annotation[] {
  if (axis !== 'step') return [];
  const marks = rows.flatMap(({ name, run, problem_step: step }) =>
    step === null || !runs.includes(run)
      ? []
      : [{ id: `debugger ${name}`, x: step, text: m.debuggerMark({ run }) }],
  );
  return marks.length > MAX_MARKS ? [] : marks;
}
