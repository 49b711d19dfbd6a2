import { placeAt } from '../../../wall/steps/steps';
import { Value } from '../data/value';
import type { RunSeries } from '../images.svelte';
import type { Pair, Side } from '../state/codecs';

/** What is compared until somebody says otherwise: two runs, or the first and the last of one. */
export function usualPair(series: readonly RunSeries[], part: number | null): Pair | null {
  const [first, second] = series;
  if (!first) return null;
  const side = (run: string, step: number | null = null): Side => ({ run, step, part: part ?? 0 });
  if (second) return [side(first.run.name), side(second.run.name)];
  return [side(first.run.name, first.steps.step[0] ?? null), side(first.run.name)];
}

/** The value that a side names; null where there is none at or before its step. */
export function findValue(
  series: readonly RunSeries[],
  side: Side,
  step: number | null,
): Value | null {
  const found = series.find(({ run }) => run.name === side.run);
  if (!found) return null;
  const place = placeAt(found.steps, side.step ?? step);
  return place < 0 ? null : new Value(found.steps, place);
}

export function withSide(pair: Pair, at: 0 | 1, change: Partial<Side>): Pair {
  const [one, other] = pair;
  return at === 0 ? [{ ...one, ...change }, other] : [one, { ...other, ...change }];
}
