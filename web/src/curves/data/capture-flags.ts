import type { Flag } from '../../charts/types';
import type { XAxis } from '../../plugin/context';

/** When a profiler looked at a run, as the dashboard of profiles tells it. */
export interface CaptureRow {
  readonly id: string;
  readonly run: string;
  readonly wall_s: number;
  /** The last step that the run had logged before it. */
  readonly step: number | null;
}

/** More poles would hide the lines. */
const MOST = 12;

/** A pole for each capture of some runs, along an axis that it has a place on. */
export function flagsOf(
  rows: readonly CaptureRow[],
  runs: readonly string[],
  axis: XAxis,
): readonly Flag[] {
  const flags = rows
    .filter(({ run }) => runs.includes(run))
    .flatMap(({ id, run, wall_s, step }) => {
      const x = axis === 'wall' ? wall_s : axis === 'step' ? step : null;
      return x === null ? [] : [{ id: `capture ${id}`, x, text: `profile of ${run}` }];
    });
  return flags.length > MOST ? [] : flags;
}
