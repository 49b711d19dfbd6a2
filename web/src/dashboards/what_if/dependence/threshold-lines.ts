/** The thresholds from which on the predictions of partial dependence are positive. */
import * as m from '../../../catalog/what_if';
import type { BarMark } from '../../../charts/bar/BarChart.svelte';
import type { ReferenceLine } from '../../../charts/types';

/** The thresholds of one model. */
export interface ModelThresholds {
  readonly model: string;
  /** That of all datapoints that are in none of the slices; null if there are none. */
  readonly overall: number | null;
  /** Those of slices, if they have some of their own. */
  readonly slices: readonly { readonly title: string; readonly threshold: number }[];
  /** Those of the copies of one datapoint, at each x; empty if there are no others. */
  readonly copies: ArrayLike<number>;
}

/** With more lines, labels would cover each other. */
const MAX_LABELS = 6;
const MAX_NAMES = 3;
const DASH = [3, 3];

/** Return a line for each threshold; labels say whose they are, if they differ. */
export function makeThresholdLines(
  models: readonly ModelThresholds[],
  x: Float64Array,
): ReferenceLine[] {
  const flat = new Map<number, string[]>();
  const steps: ReferenceLine[] = [];
  const add = (threshold: number, ...names: string[]): void => {
    const name = names.filter((one) => one !== '').join(' · ');
    flat.set(threshold, [...(flat.get(threshold) ?? []), name]);
  };
  for (const { model, overall, slices, copies } of models) {
    const name = models.length > 1 ? model : '';
    const first = copies[0] ?? overall;
    if (copies.length !== x.length || Array.from(copies).every((one) => one === first)) {
      for (const { title, threshold } of slices) add(threshold, title, name);
      if (first !== null) add(first, slices.length > 0 ? m.otherDatapoints : '', name);
    } else
      steps.push({ id: `threshold ${model}`, label: name, dash: DASH, ...makeSteps(x, copies) });
  }
  const isLabeled = flat.size + steps.length > 1 && flat.size <= MAX_LABELS;
  const ends = Float64Array.of(x[0] ?? 0, x.at(-1) ?? 1);
  const lines = [...flat].map(([threshold, names]) => ({
    ...{ id: `threshold ${threshold}`, dash: DASH, x: ends },
    y: Float64Array.of(threshold, threshold),
    label: isLabeled ? joinNames(names) : '',
  }));
  return [...lines, ...steps];
}

/** Return a mark for each threshold that applies to the bar at `at` of `count` bars. */
export function makeThresholdMarks(
  { overall, slices, copies }: Omit<ModelThresholds, 'model'>,
  at: number,
  count: number,
): BarMark[] {
  const own = copies.length === count ? copies[at] : undefined;
  if (own !== undefined) return [{ label: m.threshold, value: own }];
  const marks = slices.map(({ title, threshold }) => ({
    label: m.thresholdOf({ slice: title }),
    value: threshold,
  }));
  if (overall === null) return marks;
  const label = slices.length > 0 ? m.thresholdOf({ slice: m.otherDatapoints }) : m.threshold;
  return [...marks, { label, value: overall }];
}

function joinNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown}, …` : shown;
}

/** A threshold applies halfway to the next x, where the datapoint is in another slice. */
function makeSteps(x: Float64Array, thresholds: ArrayLike<number>): Pick<ReferenceLine, 'x' | 'y'> {
  const places: number[] = [];
  const heights: number[] = [];
  for (let at = 0; at < x.length; at++) {
    const [before, here, after] = [x[at - 1], x[at] ?? NaN, x[at + 1]];
    places.push(((before ?? here) + here) / 2, (here + (after ?? here)) / 2);
    heights.push(thresholds[at] ?? NaN, thresholds[at] ?? NaN);
  }
  return { x: Float64Array.from(places), y: Float64Array.from(heights) };
}
