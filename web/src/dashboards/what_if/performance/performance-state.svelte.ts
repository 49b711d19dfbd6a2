import { untrack } from 'svelte';

import { type Query, QueryMap } from '../../../api/create-query.svelte';
import { toProblem } from '../../../api/errors';
import type {
  ModelJobStatus,
  OptimizeResponse,
  PerformanceRequest,
  PerformanceResponse,
  Problem,
  Strategy,
} from '../../../api/schemas';
import * as m from '../../../catalog/what_if';
import { getOwn } from '../feature-values';
import { isRunning, optimizeQuery, performanceQuery } from '../query';
import {
  type BinRule,
  type Condition,
  formatSlice,
  matchesWords,
  parseSlice,
  removeSliceThresholds,
} from '../slices';
import type { StrategyChoice, Thresholds } from '../what-if-settings';
import type { StrategyResult, WhatIfState } from '../what-if-state.svelte';
import { computeCostInterval, type Interval } from './threshold-intervals';
import {
  addConfusions,
  computeCost,
  computeMetrics,
  type ThresholdMetrics,
} from './threshold-metrics';

/** The slice of all rows, which is the first of a response. */
export const OVERALL = 0;

/** A threshold is in the URL, and what takes long is computed, when no slider has moved for this time. */
const SETTLED_MS = 150;

export interface SliceRow extends ThresholdMetrics {
  readonly at: number;
  /** The name of the server, and the one that is shown. */
  readonly name: string;
  readonly title: string;
  readonly threshold: number;
  /** Its threshold follows a slider that is being dragged. */
  readonly isMoving: boolean;
}

/** A threshold that is being dragged. */
interface Dragged {
  readonly model: string;
  /** The slice, empty for all rows. */
  readonly key: string;
  readonly threshold: number;
}

/** The metrics of one of the models. */
export interface ModelPerformance {
  readonly name: string;
  readonly data: PerformanceResponse;
}

/** Metrics of one model per slice, and the thresholds of the slices. */
export class PerformanceState {
  readonly board: WhatIfState;
  readonly #getModel: () => string | null;
  readonly query: Query<PerformanceResponse>;
  isOptimizing = $state(false);
  #dragged = $state.raw<Dragged | null>(null);
  /** The request whose computation was cancelled, as text. */
  #cancelled = $state.raw<string | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #staged = new StagedRows<SliceRow>();
  readonly #others: QueryMap<PerformanceRequest, PerformanceResponse>;

  /** Call it where effects can be created. */
  constructor(board: WhatIfState, getModel: () => string | null = () => board.model?.name ?? null) {
    this.board = board;
    this.#getModel = getModel;
    this.query = board.context.query(performanceQuery, () => {
      const { info } = board;
      const name = getModel();
      const model = board.models.find((one) => one.name === name);
      if (!info || info.label === null || !model?.is_predicted) return null;
      const request = this.makeRequest(model.name);
      return this.#cancelled === JSON.stringify(request) ? null : request;
    });
    this.#others = new QueryMap(board.context.queries, performanceQuery, (name) =>
      this.makeRequest(name),
    );
    $effect.pre(() => {
      const { rows } = this;
      const open = board.settings.slice.value;
      untrack(() =>
        this.#staged.show(
          rows,
          ({ at, name }) =>
            at === OVERALL || name === open || this.#getKey(name) === this.#dragged?.key,
        ),
      );
    });
    $effect(() => () => this.#commit());
  }

  makeRequest(model: string): PerformanceRequest {
    const { info, slicing } = this.board;
    return { session: info?.session ?? '', model, ...slicing };
  }

  /** The columns of the slices that are divided into bins. */
  readonly binnedColumns: readonly string[] = $derived.by(() =>
    Object.keys(this.board.slicing.buckets),
  );

  setBins(column: string, rule: BinRule): void {
    const { bins } = this.board.settings;
    bins.set({ ...bins.value, [column]: rule }, 'push');
    // The slices are others.
    const { thresholds, sliceBy } = this.board.settings;
    thresholds.set(removeSliceThresholds(thresholds.value, sliceBy.value));
    this.board.resetStrategy();
  }

  /** Return the name of a slice to show. */
  getTitle(at: number): string {
    return this.#titles[at] ?? '';
  }

  /** Whether a slice is shown; that of all rows always is. */
  isListed(at: number): boolean {
    return at === OVERALL || matchesWords(this.getTitle(at), this.board.settings.sliceFilter.value);
  }

  /** Undefined while the metrics of a large table are being computed. */
  readonly data: PerformanceResponse | undefined = $derived.by(() =>
    this.query.data?.status ? undefined : this.query.data,
  );

  /** The state of a computation that takes long. */
  readonly status: ModelJobStatus | null = $derived.by(() => {
    const status = this.query.data?.status;
    return status && isRunning(status) ? status : null;
  });

  readonly isCancelled: boolean = $derived.by(
    () =>
      this.#cancelled !== null &&
      this.#cancelled === JSON.stringify(this.makeRequest(this.#getModel() ?? '')),
  );

  /** End the computation until something else is requested. */
  async cancel(): Promise<void> {
    const { status } = this;
    if (status === null) return;
    this.#cancelled = JSON.stringify(this.makeRequest(this.#getModel() ?? ''));
    const { queries } = this.board.context;
    await queries.mutate('DELETE what_if/job', { job: status.job }).catch(() => undefined);
    queries.invalidate(performanceQuery);
  }

  /** Compute what was cancelled. */
  resume(): void {
    this.#cancelled = null;
  }

  /** Request the metrics of the other models while a view shows them; return what stops that. */
  requestOthers(): () => void {
    const stops = this.board.models
      .filter((model) => model.is_predicted && model.name !== this.board.model?.name)
      .map(({ name }) => this.#others.subscribe(name));
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** The metrics of all models that have some, the chosen one first. */
  readonly models: readonly ModelPerformance[] = $derived.by(() => {
    const chosen = this.board.model?.name ?? '';
    if (!this.data) return [];
    return [
      { name: chosen, data: this.data },
      ...this.board.models.flatMap(({ name }) => {
        const data = name === chosen ? undefined : this.#others.get(name)?.data;
        return data && !data.status ? [{ name, data }] : [];
      }),
    ];
  });
  readonly isBinary: boolean = $derived.by(() => (this.data?.thresholds.length ?? 0) > 0);

  readonly #titles: readonly string[] = $derived.by(() => {
    const columns = this.board.settings.sliceBy.value;
    return (this.data?.slices ?? []).map((name, at) =>
      at === OVERALL ? m.allDatapoints : formatSlice(name, columns),
    );
  });

  /** Return the threshold of a slice, by default for the chosen model. */
  getThreshold(slice: string, model: string = this.board.model?.name ?? ''): number {
    const dragged = this.#findDragged(slice, model);
    if (dragged) return dragged.threshold;
    const thresholds = getOwn(this.board.settings.thresholds.value, model);
    return getOwn(thresholds, this.#getKey(slice)) ?? this.board.getThreshold(model);
  }

  /** Return the dragged threshold that a slice has. */
  #findDragged(slice: string, model: string): Dragged | null {
    const dragged = this.#dragged;
    if (dragged?.model !== model) return null;
    const key = this.#getKey(slice);
    const own = getOwn(getOwn(this.board.settings.thresholds.value, model), key);
    return dragged.key === key || (dragged.key === '' && own === undefined) ? dragged : null;
  }

  /** Those of the chosen model. */
  get #thresholds(): Thresholds {
    const { settings, model } = this.board;
    return getOwn(settings.thresholds.value, model?.name ?? '') ?? {};
  }

  #setThresholds(next: Thresholds, mode: 'push' | 'replace'): void {
    this.#dragged = null;
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
    const { settings, model } = this.board;
    const key = this.#getKey(slice);
    if (this.#dragged && this.#dragged.key !== key) this.#commit();
    this.#dragged = { model: model?.name ?? '', key, threshold };
    clearTimeout(this.#timer);
    // Everything that depends on the URL takes as long as the table.
    this.#timer = setTimeout(() => this.#commit(), SETTLED_MS);
    if (settings.strategy.value !== 'custom') settings.strategy.set('custom', 'replace');
  }

  /** Write the dragged threshold to the URL. */
  #commit(): void {
    clearTimeout(this.#timer);
    const dragged = this.#dragged;
    if (!dragged) return;
    const { thresholds } = this.board.settings;
    const { model, key, threshold } = dragged;
    const changed = { ...getOwn(thresholds.value, model), [key]: threshold };
    this.#dragged = null;
    thresholds.set({ ...thresholds.value, [model]: changed }, 'replace');
  }

  /** Use the thresholds of some slices. */
  applyThresholds(thresholds: Thresholds): void {
    const chosen = Object.entries(thresholds).map(([slice, threshold]) => [
      this.#getKey(slice),
      threshold,
    ]);
    this.board.resetStrategy();
    this.#setThresholds({ ...this.#thresholds, ...Object.fromEntries(chosen) }, 'push');
  }

  resetThresholds(): void {
    this.#setThresholds({}, 'push');
    this.board.resetStrategy();
  }

  #lastRows: readonly SliceRow[] = [];
  #lastData: PerformanceResponse | null = null;

  /** The metrics of all slices at their thresholds. Rows that have not changed are the same objects. */
  readonly rows: readonly SliceRow[] = $derived.by(() => {
    const { data } = this;
    if (!data || data.thresholds.length === 0) return [];
    const model = this.board.model?.name ?? '';
    const known = data === this.#lastData ? this.#lastRows : [];
    this.#lastData = data;
    this.#lastRows = data.slices.map((name, at) => {
      const threshold = this.getThreshold(name);
      const isMoving = this.#findDragged(name, model) !== null;
      const title = this.getTitle(at);
      const row = known[at];
      if (row?.threshold === threshold && row.isMoving === isMoving && row.title === title)
        return row;
      return { at, name, title, threshold, isMoving, ...computeMetrics(data, at, threshold) };
    });
    return this.#lastRows;
  });

  #lastSettled: readonly SliceRow[] = [];

  /** The metrics of all slices when no threshold was being dragged. */
  readonly settledRows: readonly SliceRow[] = $derived.by(() => {
    if (this.#dragged === null) this.#lastSettled = this.rows;
    return this.#lastSettled;
  });

  /** The metrics that are shown: while all thresholds are dragged, those of some rows are late. */
  get shownRows(): readonly SliceRow[] {
    return this.#staged.rows;
  }

  /** The metrics of all slices at the thresholds that are shown. */
  get completeRows(): readonly SliceRow[] {
    return this.#staged.complete;
  }

  /** The slices, which have no datapoints in common; all rows without slices. */
  readonly parts: readonly SliceRow[] = $derived.by(() =>
    this.completeRows.length > 1 ? this.completeRows.slice(1) : this.completeRows,
  );

  /** What the thresholds of the slices cost. */
  readonly cost: number = $derived.by(() =>
    this.data ? computeCost(addConfusions(this.parts), this.board.settings.costRatio.value) : NaN,
  );

  readonly costInterval: Interval = $derived.by(() =>
    computeCostInterval(this.parts, this.board.settings.costRatio.value),
  );

  readonly #strategyKey: string = $derived.by(() => {
    const { info, model } = this.board;
    return JSON.stringify([info?.version, info?.label, this.makeRequest(model?.name ?? '')]);
  });

  readonly #result: StrategyResult | null = $derived.by(() => {
    const { strategyResult: result } = this.board;
    return result?.key === this.#strategyKey ? result : null;
  });

  /** The result of the strategy; null if it was chosen for other data, slices or another model. */
  get choice(): OptimizeResponse | null {
    return this.#result?.choice ?? null;
  }

  get problem(): Problem | null {
    return this.#result?.problem ?? null;
  }

  /** Let the server choose the thresholds. */
  async optimize(strategy: StrategyChoice): Promise<void> {
    const { board } = this;
    const { settings, model, context } = board;
    settings.strategy.set(strategy, 'push');
    if (strategy === 'custom' || !model || !this.data) {
      board.strategyResult = null;
      return;
    }
    const key = this.#strategyKey;
    board.strategyResult = { key, choice: this.choice, problem: null };
    this.isOptimizing = true;
    try {
      const response = await context.queries.fetch(optimizeQuery, {
        ...this.makeRequest(model.name),
        strategy: strategy satisfies Strategy,
        cost_ratio: settings.costRatio.value,
        max_gap: Math.max(0, Math.min(1, settings.maxGap.value)),
        measure: settings.measure.value,
      });
      if (key !== this.#strategyKey || settings.strategy.value !== strategy) return;
      board.strategyResult = { key, choice: response, problem: null };
      const thresholds = Object.fromEntries(
        response.slices.map((name, at) => [this.#getKey(name), response.thresholds[at] ?? 0.5]),
      );
      if (strategy === 'single') {
        // One threshold for all rows, which the slices share.
        this.#setThresholds({ '': response.thresholds[0] ?? 0.5 }, 'push');
      } else this.#setThresholds({ ...this.#thresholds, ...thresholds }, 'push');
    } catch (error) {
      if (key === this.#strategyKey)
        board.strategyResult = { key, choice: this.choice, problem: toProblem(error) };
    } finally {
      this.isOptimizing = false;
    }
  }

  /** Show the datapoints of a slice, or of a cell of its confusion matrix. */
  showDatapoints(
    slice: string,
    cell: { readonly label: number; readonly prediction: number } | null,
    name: string = this.board.model?.name ?? '',
  ): void {
    this.#commit();
    const { settings, info } = this.board;
    const data = this.models.find((one) => one.name === name)?.data;
    const { edges = {}, label_values: labelValues = [], class_names: classes = [] } = data ?? {};
    const conditions: Condition[] = parseSlice(slice, settings.sliceBy.value, edges);
    if (cell && info?.label) {
      conditions.push({ column: info.label, value: labelValues[cell.label] ?? '' });
    }
    if (cell && (data?.thresholds.length ?? 0) > 0) {
      const column = this.board.nameComputed('score', name);
      const threshold = this.getThreshold(slice, name);
      conditions.push(
        cell.prediction === 1 ? { column, low: threshold } : { column, high: threshold },
      );
    } else if (cell) {
      const value = classes[cell.prediction] ?? '';
      conditions.push({ column: this.board.nameComputed('predicted', name), value });
    }
    settings.conditions.set(conditions, 'push');
    settings.view.set('datapoints', 'push');
  }
}

/** Rows of which a few change in each frame: laying out a whole table takes longer than a frame. */
const ROWS_PER_FRAME = 7;

export class StagedRows<Row extends { readonly name: string }> {
  /** What is shown of each row. */
  rows = $state.raw<readonly Row[]>([]);
  /** All rows as they were when the last of them was shown, for what depends on all. */
  complete = $state.raw<readonly Row[]>([]);
  #target: readonly Row[] = [];
  #frame = 0;
  /** Where the next frame goes on. */
  #next = 0;

  /** Call it where effects can be created: it stops with the component. */
  constructor() {
    $effect(() => () => cancelAnimationFrame(this.#frame));
  }

  /** Show other rows: those that `isUrgent` now, and the others within some frames. */
  show(target: readonly Row[], isUrgent: (row: Row) => boolean): void {
    const { rows } = this;
    this.#target = target;
    const isSame =
      rows.length === target.length && rows.every(({ name }, at) => name === target[at]?.name);
    if (!isSame) {
      this.rows = target;
      this.complete = target;
      this.#next = 0;
      return;
    }
    this.rows = rows.map((row, at) => {
      const next = target[at] ?? row;
      return isUrgent(next) ? next : row;
    });
    if (this.#frame === 0) this.#schedule();
  }

  #schedule(): void {
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#showNext();
      if (this.complete !== this.#target) this.#schedule();
    });
  }

  /** Show the next rows; in the frame after the last ones, what depends on all. */
  #showNext(): void {
    const rows = [...this.rows];
    let left = ROWS_PER_FRAME;
    for (; this.#next < rows.length && left > 0; this.#next++) {
      const row = this.#target[this.#next];
      if (!row || row === rows[this.#next]) continue;
      rows[this.#next] = row;
      left--;
    }
    if (left < ROWS_PER_FRAME) this.rows = rows;
    else {
      this.complete = this.#target;
      this.#next = 0;
    }
  }
}
