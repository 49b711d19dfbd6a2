import type { CaptureRow } from '../api/schemas';
import type { Annotation } from '../charts/types';
import type { XAxis } from '../plugin/context';

/** More poles would hide the lines. */
const MAX_CAPTURE_FLAGS = 12;

/** A pole for each capture of some runs, along an axis that it has a place on. */
export function captureFlags(
  rows: readonly Pick<CaptureRow, 'id' | 'run' | 'wall_s' | 'step'>[],
  runs: readonly string[],
  axis: XAxis,
): readonly Annotation[] {
  const flags = rows
    .filter(({ run }) => runs.includes(run))
    .flatMap(({ id, run, wall_s, step }) => {
      const x = axis === 'wall' ? wall_s : axis === 'step' ? step : null;
      return x === null ? [] : [{ id: `capture ${id}`, x, text: `profile of ${run}` }];
    });
  return flags.length > MAX_CAPTURE_FLAGS ? [] : flags;
}
