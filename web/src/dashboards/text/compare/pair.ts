import type { Codec } from '../../../base/codec';
import { placeAt, type RunSteps } from '../../../wall/steps/steps';

/** A text: what a run had logged by a step; null: its last. */
export interface Side {
  readonly run: string;
  readonly step: number | null;
}

export interface Pair {
  readonly before: Side;
  readonly after: Side;
}

export const NO_PAIR: Pair | null = null;

/** Written flat: run, step, run, step. */
export function pairCodec(list: Codec<readonly string[]>): Codec<Pair | null> {
  return {
    parse(text) {
      const [run, step, otherRun, otherStep] = list.parse(text);
      if (run === undefined || otherRun === undefined) return null;
      return {
        before: { run, step: readStep(step) },
        after: { run: otherRun, step: readStep(otherStep) },
      };
    },
    format: (pair) =>
      pair === null ? '' : list.format([pair.before, pair.after].flatMap(sideWords)),
  };
}

function sideWords({ run, step }: Side): string[] {
  return [run, step === null ? '' : String(step)];
}

function readStep(text = ''): number | null {
  const step = text === '' ? NaN : Number(text);
  return Number.isFinite(step) ? step : null;
}

/** What somebody most likely wants to compare: two runs, or the last two texts of one. */
export function suggestPair(series: readonly RunSteps[], step: number | null): Pair | null {
  const [first, second] = series;
  if (!first) return null;
  if (second) return { before: { run: first.run, step }, after: { run: second.run, step } };
  const place = placeAt(first, step);
  const before = first.step[place - 1] ?? first.step[0] ?? null;
  return { before: { run: first.run, step: before }, after: { run: first.run, step } };
}
