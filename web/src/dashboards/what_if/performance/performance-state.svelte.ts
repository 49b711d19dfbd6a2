import { untrack } from 'svelte';

import { toProblem } from '../../../api/errors';
import type { Query } from '../../../api/create-query.svelte';
import type {
  OptimizeResponse,
  PerformanceRequest,
  PerformanceResponse,
  Problem,
  Strategy,
} from '../../../api/schemas';
import * as m from '../../../catalog/what_if';
import { type Condition, formatSlice, parseSlice } from '../conditions';
import { optimizeQuery, performanceQuery } from '../query';
import type { StrategyChoice, Thresholds } from '../what-if-settings';
import type { WhatIfState } from '../what-if-state.svelte';
import { type BinRule, DEFAULT_BINS, matchesWords } from './bins';
import { computeCostInterval, type Interval } from './threshold-intervals';
import {
  addConfusions,
  computeCost,
  computeMetrics,
  type ThresholdMetrics,
} from './threshold-metrics';

/** The slice of all rows, which is the first of a response. */
export const OVERALL = 0;

/** What takes long is computed when no slider has moved for this time. */
const SETTLED_MS = 150;

export interface SliceRow extends ThresholdMetrics {
  readonly at: number;
  /** The name of the server, and the one that is shown. */
  readonly name: string;
  readonly title: string;
  readonly threshold: number;
}

/** Metrics of one model per slice, and the thresholds of the slices. */
export class PerformanceState {
  readonly board: WhatIfState;
  readonly query: Query<PerformanceResponse>;
  /** The result of the last strategy. */
  choice = $state.raw<OptimizeResponse | null>(null);
  problem = $state.raw<Problem | null>(null);
  isOptimizing = $state(false);
  /** The metrics of all slices when thresholds last did not change for a moment. */
  settledRows = $state.raw<readonly SliceRow[]>([]);

  /** Call it where effects can be created. */
  constructor(board: WhatIfState, getModel: () => string | null = () => board.model?.name ?? null) {
    this.board = board;
    this.query = board.context.query(performanceQuery, () => {
      const { info } = board;
      const name = getModel();
      const model = board.models.find((one) => one.name === name);
      if (!info || info.label === null || !model?.is_predicted) return null;
      return this.makeRequest(model.name);
    });
    $effect(() => {
      const { rows } = this;
      const delay = untrack(() => this.settledRows.length) === 0 ? 0 : SETTLED_MS;
      const timer = setTimeout(() => (this.settledRows = rows), delay);
      return () => clearTimeout(timer);
    });
  }

  makeRequest(model: string): PerformanceRequest {
    const { info, settings, numericColumns } = this.board;
    const numeric = new Set(numericColumns.map(({ name }) => name));
    const sliceBy = settings.sliceBy.value;
    return {
      session: info?.session ?? '',
      model,
      slice_by: sliceBy,
      buckets: Object.fromEntries(
        sliceBy
          .filter((name) => numeric.has(name) && !this.#hasFewValues(name))
          .map((name) => [name, settings.bins.value[name] ?? DEFAULT_BINS]),
      ),
    };
  }

  /** The columns of the slices that are divided into bins. */
  readonly binnedColumns: readonly string[] = $derived.by(() =>
    Object.keys(this.makeRequest('').buckets ?? {}),
  );

  setBins(column: string, rule: BinRule): void {
    const { bins } = this.board.settings;
    bins.set({ ...bins.value, [column]: rule }, 'push');
    this.resetStrategy();
  }

  /** Return the name of a slice to show. */
  getTitle(at: number): string {
    if (at === OVERALL) return m.allDatapoints;
    return formatSlice(this.data?.slices[at] ?? '', this.board.settings.sliceBy.value);
  }

  /** Whether a slice is shown; that of all rows always is. */
  isListed(at: number): boolean {
    return at === OVERALL || matchesWords(this.getTitle(at), this.board.settings.sliceFilter.value);
  }

  /** Numbers such as 0 and 1 are slices of their own. */
  #hasFewValues(name: string): boolean {
    const column = this.board.info?.columns.find((one) => one.name === name);
    if (!column || column.type === 'float') return false;
    const { minimum, maximum } = column;
    return minimum !== null && maximum !== null && maximum - minimum < 2;
  }

  readonly data: PerformanceResponse | undefined = $derived.by(() => this.query.data);
  readonly isBinary: boolean = $derived.by(() => (this.data?.thresholds.length ?? 0) > 0);

  /** Return the threshold of a slice, by default for the chosen model. */
  getThreshold(slice: string, model: string = this.board.model?.name ?? ''): number {
    const thresholds = this.board.settings.thresholds.value[model];
    return thresholds?.[this.#getKey(slice)] ?? this.board.getThreshold(model);
  }

  /** Those of the chosen model. */
  get #thresholds(): Thresholds {
    const { settings, model } = this.board;
    return settings.thresholds.value[model?.name ?? ''] ?? {};
  }

  #setThresholds(next: Thresholds, mode: 'push' | 'replace'): void {
    const { settings, model } = this.board;
    const others = settings.thresholds.value;
    settings.thresholds.set({ ...others, [model?.name ?? '']: next }, mode);
  }

  /** All slices have the threshold of all rows unless they have one of their own. */
  #getKey(slice: string): string {
    return slice === this.data?.slices[OVERALL] ? '' : slice;
  }

  /** Called for every move of a slider. */
  setThreshold(slice: string, threshold: number): void {
    const { strategy } = this.board.settings;
    this.#setThresholds({ ...this.#thresholds, [this.#getKey(slice)]: threshold }, 'replace');
    if (strategy.value !== 'custom') strategy.set('custom', 'replace');
  }

  /** Use the thresholds of some slices. */
  applyThresholds(thresholds: Thresholds): void {
    const chosen = Object.entries(thresholds).map(([slice, threshold]) => [
      this.#getKey(slice),
      threshold,
    ]);
    this.resetStrategy();
    this.#setThresholds({ ...this.#thresholds, ...Object.fromEntries(chosen) }, 'push');
  }

  resetThresholds(): void {
    this.#setThresholds({}, 'push');
    this.resetStrategy();
  }

  resetStrategy(): void {
    this.choice = null;
    this.problem = null;
    if (this.board.settings.strategy.value !== 'custom') this.board.settings.strategy.set('custom');
  }

  /** The metrics of all slices at their thresholds. */
  readonly rows: readonly SliceRow[] = $derived.by(() => {
    const { data } = this;
    if (!data || data.thresholds.length === 0) return [];
    return data.slices.map((name, at) => {
      const threshold = this.getThreshold(name);
      return {
        at,
        name,
        title: this.getTitle(at),
        threshold,
        ...computeMetrics(data, at, threshold),
      };
    });
  });

  /** Whether a threshold changed a moment ago. */
  readonly isChanging: boolean = $derived.by(() => this.settledRows !== this.rows);

  /** The slices, which have no datapoints in common; all rows without slices. */
  readonly parts: readonly SliceRow[] = $derived.by(() =>
    this.rows.length > 1 ? this.rows.slice(1) : this.rows,
  );

  /** What the thresholds of the slices cost. */
  readonly cost: number = $derived.by(() =>
    this.data ? computeCost(addConfusions(this.parts), this.board.settings.costRatio.value) : NaN,
  );

  readonly costInterval: Interval = $derived.by(() =>
    computeCostInterval(this.parts, this.board.settings.costRatio.value),
  );

  /** Let the server choose the thresholds. */
  async optimize(strategy: StrategyChoice): Promise<void> {
    const { settings, model, context } = this.board;
    settings.strategy.set(strategy, 'push');
    this.problem = null;
    if (strategy === 'custom' || !model || !this.data) {
      this.choice = null;
      return;
    }
    this.isOptimizing = true;
    try {
      const response = await context.queries.fetch(optimizeQuery, {
        ...this.makeRequest(model.name),
        strategy: strategy satisfies Strategy,
        cost_ratio: settings.costRatio.value,
        max_gap: Math.max(0, Math.min(1, settings.maxGap.value)),
        measure: settings.measure.value,
      });
      this.choice = response;
      const thresholds = Object.fromEntries(
        response.slices.map((name, at) => [this.#getKey(name), response.thresholds[at] ?? 0.5]),
      );
      if (strategy === 'single') {
        // One threshold for all rows, which the slices share.
        this.#setThresholds({ '': response.thresholds[0] ?? 0.5 }, 'push');
      } else this.#setThresholds({ ...this.#thresholds, ...thresholds }, 'push');
    } catch (error) {
      this.problem = toProblem(error);
    } finally {
      this.isOptimizing = false;
    }
  }

  /** Show the datapoints of a slice, or of a cell of its confusion matrix. */
  showDatapoints(
    slice: string,
    cell: { readonly label: number; readonly prediction: number } | null,
  ): void {
    const { settings, model, info } = this.board;
    const { edges = {}, label_values: labelValues = [] } = this.data ?? {};
    const conditions: Condition[] = parseSlice(slice, settings.sliceBy.value, edges);
    if (cell && info?.label) {
      conditions.push({ column: info.label, value: labelValues[cell.label] ?? '' });
    }
    if (cell && model && this.isBinary) {
      const column = this.board.nameComputed('score', model.name);
      const threshold = this.getThreshold(slice);
      conditions.push(
        cell.prediction === 1 ? { column, low: threshold } : { column, high: threshold },
      );
    } else if (cell && model) {
      const value = this.data?.class_names[cell.prediction] ?? '';
      conditions.push({ column: this.board.nameComputed('predicted', model.name), value });
    }
    settings.conditions.set(conditions, 'push');
    settings.view.set('datapoints', 'push');
  }
}
