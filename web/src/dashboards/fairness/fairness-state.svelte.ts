import { createContext } from 'svelte';

import { type Query, QueryMap } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import type {
  CorrectionName,
  DifferenceResponse,
  EvaluationRow,
  EvaluationsResponse,
  Problem,
  ResultRequest,
  ResultResponse,
  SliceDatapointsResponse,
} from '../../api/schemas';
import * as m from '../../catalog/fairness';
import { sortOrderCodec } from '../../components/data-table';
import { translate } from '../../i18n/messages';
import { choice, list, number, optionalText, range } from '../../lib/codecs';
import { RUN_COLORS } from '../../lib/colors';
import { formatStep, formatValue } from '../../lib/format';
import type { Context, Shortcut } from '../../plugin/context';
import { getSignificanceLevel } from './differences';
import {
  getDefaultBaseline,
  getDefaultMetrics,
  getDefaultSlices,
  getDefaultThreshold,
  getSliceLabel,
  listMetrics,
  listOutputs,
  listThresholds,
  selectColumns,
  SMALL_SLICE_ROWS,
  sortEvaluations,
} from './evaluation-model';
import { getMetricLabel } from './metric-info';
import {
  datapointsQuery,
  differenceQuery,
  evaluationsQuery,
  openInWhatIf,
  resultQuery,
  VERSIONED_QUERIES,
} from './query';

export const FAIRNESS_VIEWS = [
  'gaps',
  'metrics',
  'slices',
  'steps',
  'plots',
  'validation',
] as const;

export type FairnessView = (typeof FAIRNESS_VIEWS)[number];

export const CORRECTIONS: readonly CorrectionName[] = [
  'holm',
  'bonferroni',
  'benjamini-hochberg',
  'none',
];

export type FairnessSettings = ReturnType<typeof makeFairnessSettings>;

/** What is shown, in the URL. Empty lists and null mean the defaults of the evaluation. */
export function makeFairnessSettings({ url }: Pick<Context, 'url'>) {
  return {
    view: url.param<FairnessView>('fairness-view', choice(FAIRNESS_VIEWS, 'gaps'), 'gaps'),
    evaluation: url.param('fairness-evaluation', optionalText, null),
    /** null: the first model. */
    model: url.param('fairness-model', optionalText, null),
    baseline: url.param('fairness-baseline', optionalText, null),
    /** Keys of evaluations and models to compare with instead of a baseline slice. */
    others: url.param('fairness-compare', list, []),
    metrics: url.param('fairness-metrics', list, []),
    thresholds: url.param('fairness-thresholds', list, []),
    outputs: url.param('fairness-outputs', list, []),
    slices: url.param('fairness-slices', list, []),
    correction: url.param<CorrectionName>(
      'fairness-correction',
      choice(CORRECTIONS, 'holm'),
      'holm',
    ),
    filter: url.param('fairness-filter', optionalText, null),
    minRows: url.param('fairness-min-rows', number(0), 0),
    /** Restricts the slice browser to values of its first metric. */
    range: url.param('fairness-range', range, null),
    sort: url.param('fairness-sort', sortOrderCodec, { key: 'count', descending: true }),
    tableSort: url.param('fairness-table-sort', sortOrderCodec, { key: '', descending: false }),
    /** Threshold of the confusion matrix. */
    cut: url.param('fairness-threshold', number(0.5), 0.5),
  };
}

const MAX_GAPS = 200;
export const MAX_COMPARISONS = 4;

/** A model of an evaluation that the open one is compared with. */
export interface Comparison {
  readonly key: string;
  readonly id: string;
  /** null: the first model. */
  readonly model: string | null;
  readonly label: string;
}

/** The evaluation that is open, what is chosen of it, and its differences to the baseline. */
export class FairnessState {
  readonly context: Context;
  readonly settings: FairnessSettings;
  readonly evaluationsQuery: Query<EvaluationsResponse>;
  readonly resultQuery: Query<ResultResponse>;
  readonly differenceQuery: Query<DifferenceResponse>;
  /** Where What-If finds the rows of the evaluation. */
  readonly datapointsQuery: Query<SliceDatapointsResponse>;
  /** Why the rows of the slice that was chosen last cannot be shown. */
  sliceProblem = $state.raw<string | null>(null);

  /** Call it where effects can be created. */
  constructor(context: Context) {
    this.context = context;
    this.settings = makeFairnessSettings(context);
    this.evaluationsQuery = context.query(evaluationsQuery, () => ({}));
    this.resultQuery = context.query(resultQuery, () => {
      const { evaluation } = this;
      return evaluation && { id: evaluation.id, model: this.settings.model.value };
    });
    this.#others = new QueryMap(context.queries, resultQuery, parseComparisonKey);
    $effect(() => {
      const stops = this.others.map(({ key }) => this.#others.subscribe(key));
      return () => {
        for (const stop of stops) stop();
      };
    });
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
        other_model: this.other?.model ?? null,
        max_gaps: MAX_GAPS,
      };
    });
    this.datapointsQuery = context.query(datapointsQuery, () => {
      const { evaluation, result } = this;
      if (!evaluation || result?.id !== evaluation.id || !this.#canAsk) return null;
      const slice = getDefaultBaseline(result);
      return { id: evaluation.id, model: this.settings.model.value, slice };
    });
    $effect(() => this.#followVersion(this.evaluation));
    $effect(() => {
      void this.evaluation?.id;
      this.sliceProblem = null;
    });
  }

  get #canAsk(): boolean {
    return this.context.supports('GET fairness/datapoints');
  }

  /** Why What-If cannot show the rows of the evaluation, or of the slice that was chosen last. */
  readonly datapointsProblem: string | null = $derived.by(() => {
    if (!this.#canAsk) return m.datapointsNeedServer;
    const problem = this.datapointsQuery.data?.problem;
    return problem ? translate(problem) : this.sliceProblem;
  });

  readonly canShowDatapoints: boolean = $derived.by(() => {
    const { data } = this.datapointsQuery;
    return data !== undefined && data.problem === null;
  });

  /** Open the rows of a slice in What-If. */
  async showDatapoints(slice: string): Promise<void> {
    const { evaluation, context } = this;
    if (!evaluation) return;
    this.sliceProblem = null;
    try {
      const request = { id: evaluation.id, model: this.settings.model.value, slice };
      const datapoints = await context.queries.fetch(datapointsQuery, request);
      if (datapoints.problem) this.sliceProblem = translate(datapoints.problem);
      else openInWhatIf(context, datapoints);
    } catch (error) {
      this.sliceProblem = toProblem(error).message;
    }
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
  readonly #others: QueryMap<ResultRequest, ResultResponse>;

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

  /** What the open evaluation can be compared with: other evaluations, and its other models. */
  readonly comparisons: readonly Comparison[] = $derived.by(() => {
    const { evaluation, result } = this;
    if (!evaluation) return [];
    const name = describeEvaluation(evaluation);
    const models = (result?.models ?? []).filter((row) => row.name !== result?.model);
    return [
      ...models.map(({ name: model }) => ({
        // The first model has no name in requests, as in those of other evaluations.
        ...(model === result?.models[0]?.name
          ? { key: evaluation.id, model: null }
          : { key: `${evaluation.id}/${model}`, model }),
        id: evaluation.id,
        label: m.evaluationModel({ evaluation: name, model }),
      })),
      ...this.evaluations
        .filter(({ id }) => id !== evaluation.id)
        .map((row) => ({ key: row.id, id: row.id, model: null, label: describeEvaluation(row) })),
    ];
  });

  /** The chosen comparisons; differences refer to the first one. */
  readonly others: readonly Comparison[] = $derived.by(() =>
    this.settings.others.value
      .flatMap((key) => this.comparisons.find((one) => one.key === key) ?? [])
      .slice(0, MAX_COMPARISONS),
  );
  readonly other: Comparison | null = $derived.by(() => this.others[0] ?? null);

  readonly result: ResultResponse | null = $derived.by(() => this.resultQuery.data ?? null);

  /** The results of the chosen comparisons that are loaded. */
  readonly otherResults = $derived.by(() =>
    this.others.flatMap((comparison) => {
      const result = this.#others.get(comparison.key)?.data;
      return result ? [{ comparison, result }] : [];
    }),
  );
  readonly otherProblem: Problem | null = $derived.by(() => {
    const errors = this.others.flatMap(({ key }) => this.#others.get(key)?.error ?? []);
    return errors[0]?.problem ?? null;
  });

  readonly baseline: string = $derived.by(() => {
    if (!this.result) return '';
    const { value } = this.settings.baseline;
    const isKnown = value !== null && this.result.slices.includes(value);
    return isKnown ? value : getDefaultBaseline(this.result);
  });

  /** Whether intervals of differences to the baseline take into account that slices share rows. */
  readonly isPaired: boolean = $derived.by(() => {
    const { result } = this;
    if (!result?.has_replicates) return false;
    const isExported = result.replicates !== null || this.baseline === getDefaultBaseline(result);
    return !this.context.isStatic || isExported;
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

  /** The name of a slice, with a mark if it is small. */
  describeSlice(slice: number): string {
    const name = getSliceLabel(this.result?.slices[slice] ?? '');
    return this.isSmall(slice) ? m.smallSliceName({ slice: name }) : name;
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
    this.other ? this.other.label : getSliceLabel(this.baseline),
  );

  /** Compare with an evaluation or model, or no longer. */
  toggleComparison(key: string): void {
    const keys = this.others.map((one) => one.key);
    const isChosen = keys.includes(key);
    const chosen = isChosen ? keys.filter((one) => one !== key) : [...keys, key];
    this.settings.others.set(chosen.slice(-MAX_COMPARISONS), 'push');
  }

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

function parseComparisonKey(key: string): ResultRequest {
  const [id = '', ...model] = key.split('/');
  return { id, model: model.length > 0 ? model.join('/') : null };
}

export function describeEvaluation({ run, tag, step, kind }: EvaluationRow): string {
  const name = kind === 'folder' ? tag || run : run;
  return step === null ? name : m.evaluationAtStep({ name, step: formatStep(step) });
}

export const [getFairness, setFairness] = createContext<FairnessState>();

/** Register the keys of the dashboard; returns how to remove them. */
export function registerFairnessShortcuts(board: FairnessState): () => void {
  const { view } = board.settings;
  const move = (by: 1 | -1): void => {
    const at = FAIRNESS_VIEWS.indexOf(view.value) + by;
    const next = FAIRNESS_VIEWS[(at + FAIRNESS_VIEWS.length) % FAIRNESS_VIEWS.length];
    if (next) view.set(next, 'push');
  };
  const step = (by: 1 | -1): void => {
    const { evaluation, evaluations } = board;
    const same = evaluations.filter(
      ({ run, tag }) => run === evaluation?.run && tag === evaluation.tag,
    );
    // The list starts with the last step.
    const next = same[same.findIndex(({ id }) => id === evaluation?.id) - by];
    if (next) board.settings.evaluation.set(next.id, 'push');
  };
  const shortcuts: readonly Omit<Shortcut, 'group'>[] = [
    { keys: 'v', label: m.nextView, run: () => move(1) },
    { keys: 'Shift+V', label: m.previousView, run: () => move(-1) },
    { keys: ',', label: m.previousStep, run: () => step(-1) },
    { keys: '.', label: m.nextStep, run: () => step(1) },
  ];
  const stops = shortcuts.map((shortcut) =>
    board.context.shortcuts.register({ ...shortcut, group: m.title }),
  );
  return () => stops.forEach((stop) => stop());
}
