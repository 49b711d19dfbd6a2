import type { DebugSourceRow } from '../api/schemas';
import * as m from '../catalog/scalars';
import type { Annotation } from '../charts/types';
import type { XAxis } from '../plugin/context';

/** More marks would hide the lines. */
const MAX_MARKS = 12;

type ProblemRow = Pick<DebugSourceRow, 'name' | 'run' | 'problem_step' | 'problem_time'>;

/** A line of a chart, with the times of its first and last point in seconds. */
export interface MarkedLine {
  readonly run: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Return a mark at the first numerical problem of each run that has one. Dumps of TensorFlow have no
 * steps, so they are only marked on axes of time.
 */
export function makeDebuggerAnnotations(
  rows: readonly ProblemRow[],
  lines: readonly MarkedLine[],
  axis: XAxis,
): readonly Annotation[] {
  const marks = rows.flatMap((row) => {
    const line =
      lines.find(({ run }) => run === row.run) ?? lines.find((it) => isOfProgram(row, it));
    const x = line ? locateProblem(row, line, axis) : null;
    return x === null
      ? []
      : [{ id: `debugger ${row.name}`, x, text: m.debuggerMark({ run: row.name }) }];
  });
  return marks.length > MAX_MARKS ? [] : marks;
}

/**
 * Whether a program that wrote a dump also wrote a line: its directory is above or below that of the
 * dump, and it was written at the time of the problem.
 */
function isOfProgram({ run, problem_time: time }: ProblemRow, line: MarkedLine): boolean {
  const isRelated = run === '.' || line.run.startsWith(`${run}/`) || run.startsWith(`${line.run}/`);
  return isRelated && time !== null && time >= line.start && time <= line.end;
}

function locateProblem(
  { problem_step: step, problem_time: time }: ProblemRow,
  { start }: MarkedLine,
  axis: XAxis,
): number | null {
  switch (axis) {
    case 'step':
      return step;
    case 'wall':
      return time;
    case 'relative':
      return time === null || Number.isNaN(start) ? null : time - start;
    default:
      return null;
  }
}
