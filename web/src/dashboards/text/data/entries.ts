import { placeAt, type RunSteps } from '../../../wall/steps/steps';

/** One text of a card. */
export interface Entry {
  /** The same for as long as it stands for the same thing. */
  readonly key: string;
  readonly steps: RunSteps;
  /** Where in `steps` it is. */
  readonly place: number;
}

/** What each run had logged by a step; a run that had nothing yet is left out. */
export function entriesAt(series: readonly RunSteps[], step: number | null): Entry[] {
  return series.flatMap((steps) => {
    const place = placeAt(steps, step);
    return place < 0 ? [] : [{ key: steps.run, steps, place }];
  });
}

/** All texts, newest first; of one step in the order of the runs. */
export function allEntries(series: readonly RunSteps[]): Entry[] {
  const entries = series.flatMap((steps) =>
    Array.from(steps.step, (_, place) => ({ key: keyOf(steps, place), steps, place })),
  );
  return entries.sort((a, b) => stepOf(b) - stepOf(a));
}

export function stepOf({ steps, place }: Entry): number {
  return steps.step[place] ?? 0;
}

function keyOf({ run, index, mark }: RunSteps, place: number): string {
  return `${run}\n${index[place]}\n${mark[place]}`;
}
