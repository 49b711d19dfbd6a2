import { getContext, setContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import type {
  DifferenceResponse,
  EvaluationRow,
  EvaluationsResponse,
  ResultResponse,
} from '../../api/schemas';
import * as m from '../../catalog/fairness';
import { RUN_COLORS } from '../../lib/colors';
import { formatStep, formatValue } from '../../lib/format';
import type { Context } from '../../plugin/context';
import { getSignificanceLevel } from './differences';
import {
  getDefaultBaseline,
  getDefaultMetrics,
  getDefaultSlices,
  getDefaultThreshold,
  listMetrics,
  listOutputs,
  listThresholds,
  selectColumns,
  SMALL_SLICE_ROWS,
  sortEvaluations,
} from './evaluation-model';
import { type FairnessSettings, makeFairnessSettings } from './fairness-settings';
import { getMetricLabel } from './metric-info';
import { differenceQuery, evaluationsQuery, resultQuery, VERSIONED_QUERIES } from './query';

const MAX_GAPS = 200;

/** The evaluation that is open, what is chosen of it, and its differences to the baseline. */
export class FairnessState {
  readonly context: Context;
  readonly settings: FairnessSettings;
  readonly evaluationsQuery: Query<EvaluationsResponse>;
  readonly resultQuery: Query<ResultResponse>;
  readonly otherQuery: Query<ResultResponse>;
  readonly differenceQuery: Query<DifferenceResponse>;

  /** Call it where effects can be created. */
  constructor(context: Context) {
    this.context = context;
    this.settings = makeFairnessSettings(context);
    this.evaluationsQuery = context.query(evaluationsQuery, () => ({}));
    this.resultQuery = context.query(resultQuery, () => {
      const { evaluation } = this;
      return evaluation && { id: evaluation.id, model: this.settings.model.value };
    });
    this.otherQuery = context.query(
      resultQuery,
      () => {
        const { other } = this;
        return other && { id: other.id, model: null };
      },
      { keepPrevious: false },
    );
    this.differenceQuery = context.query(differenceQuery, () => {
      const { evaluation, result, columns } = this;
      if (!evaluation || result?.id !== evaluation.id || columns.length === 0) return null;
      return {
        id: evaluation.id,
        model: this.settings.model.value,
        baseline: this.baseline,
        columns,
        correction: this.settings.correction.value,
        other: this.other?.id ?? null,
        max_gaps: MAX_GAPS,
      };
    });
    $effect(() => this.#followVersion(this.evaluation));
  }

  /** Fetch everything again after the folder of an evaluation was rewritten. */
  #followVersion(evaluation: EvaluationRow | null): void {
    if (!evaluation) return;
    const { id, version } = evaluation;
    const isRewritten = this.#versions.has(id) && this.#versions.get(id) !== version;
    this.#versions.set(id, version);
    if (isRewritten)
      for (const definition of VERSIONED_QUERIES) this.context.queries.invalidate(definition);
  }

  readonly #versions = new Map<string, string>();

  readonly evaluations: readonly EvaluationRow[] = $derived.by(() =>
    sortEvaluations(this.evaluationsQuery.data?.evaluations ?? []),
  );

  /** The chosen evaluation, or the last one of a selected run. */
  readonly evaluation: EvaluationRow | null = $derived.by(() => {
    const { value } = this.settings.evaluation;
    const isVisible = ({ run }: EvaluationRow): boolean =>
      this.context.runs.find(run) !== undefined;
    return (
      this.evaluations.find(({ id }) => id === value) ??
      this.evaluations.find(isVisible) ??
      this.evaluations[0] ??
      null
    );
  });

  readonly other: EvaluationRow | null = $derived.by(() => {
    const { value } = this.settings.other;
    return this.evaluations.find(({ id }) => id === value && id !== this.evaluation?.id) ?? null;
  });

  readonly result: ResultResponse | null = $derived.by(() => this.resultQuery.data ?? null);
  readonly otherResult: ResultResponse | null = $derived.by(() => this.otherQuery.data ?? null);

  readonly baseline: string = $derived.by(() => {
    if (!this.result) return '';
    const { value } = this.settings.baseline;
    const isKnown = value !== null && this.result.slices.includes(value);
    return isKnown ? value : getDefaultBaseline(this.result);
  });

  readonly allMetrics: readonly string[] = $derived.by(() =>
    this.result ? listMetrics(this.result) : [],
  );
  readonly allThresholds: readonly number[] = $derived.by(() =>
    this.result ? listThresholds(this.result) : [],
  );
  readonly allOutputs: readonly string[] = $derived.by(() =>
    this.result ? listOutputs(this.result) : [],
  );

  readonly metrics: readonly string[] = $derived.by(() => {
    const chosen = this.allMetrics.filter((name) => this.settings.metrics.value.includes(name));
    return chosen.length > 0 || !this.result ? chosen : getDefaultMetrics(this.result);
  });

  readonly thresholds: readonly number[] = $derived.by(() => {
    const wanted = this.settings.thresholds.value;
    const chosen = this.allThresholds.filter((one) => wanted.includes(String(one)));
    const fallback = getDefaultThreshold(this.allThresholds);
    return chosen.length > 0 || fallback === undefined ? chosen : [fallback];
  });

  readonly outputs: readonly string[] = $derived.by(() => {
    const chosen = this.allOutputs.filter((one) => this.settings.outputs.value.includes(one));
    return chosen.length > 0 ? chosen : this.allOutputs.slice(0, 1);
  });

  /** Positions of the chosen columns in the result. */
  readonly columns: readonly number[] = $derived.by(() => {
    const { result, metrics, thresholds, outputs } = this;
    return result ? selectColumns(result, { metrics, thresholds, outputs }) : [];
  });

  /** Names of the chosen slices, in the order of the result. */
  readonly slices: readonly string[] = $derived.by(() => {
    if (!this.result) return [];
    const wanted = new Set(this.settings.slices.value);
    const chosen = this.result.slices.filter((name) => wanted.has(name));
    return chosen.length > 0 ? chosen : getDefaultSlices(this.result, this.baseline);
  });

  readonly #positions = $derived.by(
    () => new Map(this.result?.slices.map((name, at) => [name, at])),
  );
  readonly #colors = $derived.by(
    () => new Map(this.slices.map((name, at) => [name, RUN_COLORS[at % RUN_COLORS.length] ?? ''])),
  );

  findSlice(name: string): number {
    return this.#positions.get(name) ?? -1;
  }

  getSliceColor(name: string): string {
    return this.#colors.get(name) ?? RUN_COLORS[0];
  }

  getCount(slice: number): number {
    return this.result?.counts[slice] ?? 0;
  }

  isSmall(slice: number): boolean {
    return this.getCount(slice) < SMALL_SLICE_ROWS;
  }

  isSignificant(adjustedPValue: number): boolean {
    return this.result !== null && adjustedPValue < getSignificanceLevel(this.result);
  }

  /** `True positive rate at 0.5`, with the class of a multi-class model. */
  getColumnLabel(column: number): string {
    const row = this.result?.columns[column];
    if (!row) return '';
    const label = getMetricLabel(row.metric);
    const output = row.output ?? '';
    if (row.threshold === null) return output ? m.metricOfOutput({ metric: label, output }) : label;
    const threshold = formatValue(row.threshold);
    return output
      ? m.metricAtThresholdOfOutput({ metric: label, threshold, output })
      : m.metricAtThreshold({ metric: label, threshold });
  }

  /** A name for the baseline, which may be another evaluation. */
  readonly baselineLabel: string = $derived.by(() =>
    this.other ? describeEvaluation(this.other) : this.baseline,
  );

  toggleSlice(name: string): void {
    const names = new Set(this.slices);
    if (!names.delete(name)) names.add(name);
    if (names.size > 0) this.settings.slices.set([...names]);
  }

  openEvaluation(id: string): void {
    this.settings.evaluation.set(id, 'push');
    this.settings.model.set(null);
  }
}

export function describeEvaluation({ run, tag, step, kind }: EvaluationRow): string {
  const name = kind === 'folder' ? tag || run : run;
  return step === null ? name : m.evaluationAtStep({ name, step: formatStep(step) });
}

const KEY = Symbol('fairness');

export function setFairness(state: FairnessState): FairnessState {
  return setContext(KEY, state);
}

export function getFairness(): FairnessState {
  return getContext(KEY);
}
