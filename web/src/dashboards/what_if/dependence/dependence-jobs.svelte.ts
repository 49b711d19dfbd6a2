import type { DependenceCurve, DependenceRequest, Problem } from '../../../api/schemas';
import type { Context } from '../../../plugin/context';
import { WhatIfJob } from '../what-if-job.svelte';

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
