/** Partial dependence as lines, bars and matrices, its thresholds, and the jobs that compute it. */
import * as m from '../../../catalog/what_if';
import type { BarMark } from '../../../charts/bar/BarChart.svelte';
import type { ReferenceLine } from '../../../charts/types';
import type { DependenceCurve, DependenceRequest, Problem } from '../../../api/schemas';
import { RUN_COLORS } from '../../../lib/colors';
import type { Context } from '../../../plugin/context';
import { WhatIfJob } from '../what-if-job.svelte';

/** The dependence of one class on one feature. */
export interface ClassCurve {
  readonly values: readonly unknown[];
  readonly mean: Float64Array;
  readonly error: Float64Array;
  /** Curves of single datapoints, and their rows. */
  readonly individual: readonly Float64Array[];
  readonly rows: readonly number[];
}

/** Return the position of a class; the last one of a binary model by default. */
export function findClass(curve: DependenceCurve, name: string): number {
  const at = curve.class_names.indexOf(name);
  return at >= 0 ? at : Math.max(0, curve.class_names.length - 1);
}

export function getClassColor(at: number): string {
  return RUN_COLORS[at % RUN_COLORS.length] ?? '#4269d0';
}

/** Return the curve of one class: matrices are flattened as points x classes. */
export function selectClass(curve: DependenceCurve, at: number): ClassCurve {
  const values = curve.values[0] ?? [];
  const points = values.length;
  const classes = points > 0 ? Math.max(1, Math.round(curve.mean.length / points)) : 1;
  const pick = (from: ArrayLike<number>, start: number): Float64Array =>
    Float64Array.from({ length: points }, (_, point) => from[start + point * classes + at] ?? NaN);
  return {
    values,
    mean: pick(curve.mean, 0),
    error: pick(curve.standard_error, 0),
    individual: Array.from({ length: curve.rows.length }, (_, row) =>
      pick(curve.individual, row * points * classes),
    ),
    rows: [...curve.rows],
  };
}

/** Return the value of a feature of a row, or of an item of a list: `name[3]`. */
export function findFeature(
  values: readonly { readonly name: string; readonly value: unknown }[],
  label: string,
): unknown {
  const own = values.find(({ name }) => name === label);
  if (own) return own.value;
  const [, list, item] = /^(.+)\[(\d+)\]$/s.exec(label) ?? [];
  const found = values.find(({ name }) => name === list)?.value;
  return Array.isArray(found) ? (found[Number(item)] as unknown) : undefined;
}

/** Return the height of a curve at some x by linear interpolation; NaN outside of its range. */
export function interpolate(x: ArrayLike<number>, y: ArrayLike<number>, at: number): number {
  for (let index = 0; index < x.length; index++) {
    const [left, right] = [x[index] ?? NaN, x[index + 1] ?? x[index] ?? NaN];
    if (at < left || at > right) continue;
    const [low, high] = [y[index] ?? NaN, y[index + 1] ?? y[index] ?? NaN];
    return left === right ? low : low + ((at - left) / (right - left)) * (high - low);
  }
  return NaN;
}

/** Return how much a prediction varies with a feature, as the reference defines it. */
export function computeVariation(mean: ArrayLike<number>, isNumeric: boolean): number {
  const values = Array.from(mean);
  if (!isNumeric) return Math.max(...values) - Math.min(...values);
  return values
    .slice(1)
    .reduce((sum, value, at) => sum + Math.abs(value - (values[at] ?? value)), 0);
}

/** Return curves with the largest variation of one of some classes first. */
export function sortByVariation(
  curves: readonly DependenceCurve[],
  classesAt: readonly number[],
): DependenceCurve[] {
  const measured = curves.map((curve) => {
    const variation = Math.max(
      ...classesAt.map((at) =>
        computeVariation(selectClass(curve, at).mean, curve.is_numeric[0] ?? false),
      ),
    );
    return { curve, variation: Number.isNaN(variation) ? -1 : variation };
  });
  return measured.sort((one, other) => other.variation - one.variation).map(({ curve }) => curve);
}

/** Return a matrix of one class of a pair of features: lines of the second by the first. */
export function selectMatrix(curve: DependenceCurve, at: number): number[][] {
  const [first = [], second = []] = curve.values;
  const cells = first.length * second.length;
  const classes = cells > 0 ? Math.max(1, Math.round(curve.mean.length / cells)) : 1;
  return second.map((_, line) =>
    first.map((_value, column) => {
      const place = (column * second.length + line) * classes + at;
      return curve.mean[place] ?? NaN;
    }),
  );
}

/** The partial dependence of one model on all features, some of them with a range of their own. */
export class DependenceJobs {
  readonly model: string;
  readonly all: WhatIfJob;
  readonly #range: WhatIfJob;
  /** Curves with a range of their own, by feature. */
  #replaced = $state.raw<ReadonlyMap<string, DependenceCurve>>(new Map());

  /** Call it where effects can be created. */
  constructor(context: Context, model: string) {
    this.model = model;
    this.all = new WhatIfJob(context);
    this.#range = new WhatIfJob(context, ({ dependence }) => this.#replace(dependence));
  }

  readonly curves: readonly DependenceCurve[] = $derived.by(() =>
    (this.all.result?.dependence ?? []).map(
      (curve) => this.#replaced.get(getFeature(curve)) ?? curve,
    ),
  );

  readonly error: Problem | null = $derived.by(() => this.all.error ?? this.#range.error);

  findCurve(feature: string): DependenceCurve | undefined {
    return this.curves.find((curve) => getFeature(curve) === feature);
  }

  run(request: DependenceRequest): void {
    this.#replaced = new Map();
    void this.all.run('POST what_if/dependence', { ...request, model: this.model });
  }

  setRange(request: DependenceRequest, feature: string, range: readonly [number, number]): void {
    void this.#range.run('POST what_if/dependence', {
      ...request,
      model: this.model,
      features: [feature],
      value_range: range,
    });
  }

  #replace(curves: readonly DependenceCurve[]): void {
    const [curve] = curves;
    if (curve) this.#replaced = new Map([...this.#replaced, [getFeature(curve), curve]]);
  }
}

export function getFeature(curve: DependenceCurve): string {
  return curve.features[0] ?? '';
}

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
