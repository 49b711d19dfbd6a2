import { spreadOf } from '../../../base/statistics';
import type { BandAnswer, Center, GroupAsk, Spread } from '../../scalars';
import { makeBaseline } from './baseline';
import { type Curve, findRows } from './curve';
import { interpolate } from './search';
import type { Key } from './series';
import { quantile } from './student';

export interface BandPlan {
  readonly start: number;
  readonly stop: number;
  readonly places: number;
  readonly center: Center;
  readonly spread: Spread;
}

type Member = readonly [Key, Curve];

/** A band for each group and tag that some of the curves belong to. */
export function drawBands(
  groups: readonly GroupAsk[],
  members: readonly Member[],
  plan: BandPlan,
): BandAnswer[] {
  const places = findPlaces(members, plan);
  const tags = [...new Set(members.map(([key]) => key.tag))];
  return tags.flatMap((tag) =>
    groups.flatMap((group) => {
      const own = members.filter(([key]) => key.tag === tag && group.runs.includes(key.run));
      return own.length > 0 ? [drawBand(group.key, tag, own, places, plan)] : [];
    }),
  );
}

/** Where curves have points: all such places if they are few, else some, spread evenly. */
function findPlaces(members: readonly Member[], plan: BandPlan): Float64Array {
  const there = new Set<number>();
  for (const [, curve] of members) {
    for (const row of findRows(curve, plan.start, plan.stop)) there.add(curve.x[row] ?? NaN);
  }
  const sorted = Float64Array.from(there).sort();
  const every = Math.max(1, Math.ceil(sorted.length / plan.places));
  return sorted.filter((_, at) => at % every === 0 || at === sorted.length - 1);
}

function drawBand(
  group: string,
  tag: string,
  own: readonly Member[],
  places: Float64Array,
  plan: BandPlan,
): BandAnswer {
  const bases = own.map(([, curve]) => makeBaseline(curve));
  const rows: (readonly [number, number, number, number])[] = [];
  for (const x of places) {
    const values = bases
      .map((base) => interpolate(base.x, base.smooth, x))
      .filter((value) => !Number.isNaN(value));
    if (values.length > 0) rows.push([x, ...sumUp(values, plan)]);
  }
  const column = (at: 0 | 1 | 2 | 3): Float64Array => Float64Array.from(rows, (row) => row[at]);
  const [x, low, center, high] = [column(0), column(1), column(2), column(3)];
  return { group, tag, runs: own.length, x, low, center, high };
}

/** Low end, middle and high end of a band at one place. */
function sumUp(
  values: readonly number[],
  { center, spread }: BandPlan,
): readonly [number, number, number] {
  const found = spreadOf(values);
  const middle = center === 'mean' ? (found?.mean ?? NaN) : medianOf(values);
  if (spread === 'minmax') return [Math.min(...values), middle, Math.max(...values)];
  // A run alone has no band.
  const reach = found && found.count > 1 ? found.std * factorOf(spread, found.count) : 0;
  return [middle - reach, middle, middle + reach];
}

function factorOf(spread: Spread, count: number): number {
  if (spread === 'std') return 1;
  return (spread === 'ci95' ? quantile(count - 1) : 1) / Math.sqrt(count);
}

function medianOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}
