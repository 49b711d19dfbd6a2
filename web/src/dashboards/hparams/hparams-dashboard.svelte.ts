import { moveKey, type SortOrder } from '../../components/data-table';
import { createContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import type { QueryError } from '../../api/errors';
import type { Facet, Problem, SessionsResponse, StudyInfo } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/hparams';
import { text } from '../../lib/codecs';
import { findCommonFolder } from '../../lib/grouping';
import { runAfterPaint, runInSlices } from '../../lib/browser';
import type { Context, Shortcut } from '../../plugin/context';
import {
  HPARAMS_VIEWS,
  type HParamsSettings,
  makeHParamsSettings,
  withAxisSetting,
} from './hparams-settings';
import {
  type AxisScale,
  type ColorLegend,
  type ColumnAxis,
  computeTrialColors,
  getDefaultScale,
  makeAxis,
  makeColorLegend,
  type ScatterAxis,
  ScatterAxisCache,
  type TrialColors,
} from './model/column-axes';
import { computeInsights, type Insights } from './model/insights';
import {
  applyFilters,
  type ColumnFilter,
  type ColumnFilters,
  listMaskRows,
  NO_FILTERS,
  withFilter,
} from './model/trial-filters';
import {
  listVisibleColumns,
  makeTrials,
  type Objective,
  rankByObjective,
  sortRows,
  type TrialColumn,
  type Trials,
} from './model/trials';
import {
  listCompletedRows,
  listRankedRows,
  NAME_KEY,
  readMetrics,
  readTrials,
  STATUS_KEY,
  type TrialMetric,
} from './model/trials-response';
import { makeSessionsRequest, PagedTrials, sessionsQuery } from './query.svelte';
import { PlotFigures } from './plot-export';

const NO_TRIALS = makeTrials([], [], []);

/** The state that all views share: the trials, which of them pass the filters, and how they are shown. */
export class HParamsDashboard {
  readonly context: Context;
  readonly settings: HParamsSettings;
  readonly #allTrials: Query<SessionsResponse>;
  /** Used instead if the log has very many runs. */
  readonly paged: PagedTrials;
  /** The trial under the pointer in any view. */
  hoveredRow = $state<number | null>(null);
  /** The plots on screen, for the image export. */
  readonly plotFigures = new PlotFigures();
  /** Why the last export failed. */
  exportError = $state.raw<Problem | null>(null);
  /** The filters during a drag. */
  #previewedFilters = $state.raw<ColumnFilters | null>(null);

  constructor(context: Context) {
    this.context = context;
    this.settings = makeHParamsSettings(context);
    this.#allTrials = context.query(sessionsQuery, () =>
      context.runs.matching === null ? makeSessionsRequest(this.settings) : null,
    );
    this.paged = new PagedTrials(context, this.settings);
    this.paged.followFacets(() =>
      this.settings.filtersOpen.value
        ? { columns: this.filterColumns, getScale: (column) => this.getScale(column) }
        : null,
    );
  }

  /** The trials, or those that are loaded of a large log. */
  readonly data: SessionsResponse | undefined = $derived.by(() =>
    this.paged.isUsed ? this.paged.data : this.#allTrials.data,
  );
  readonly trials: Trials = $derived.by(() => {
    const { data } = this;
    return data ? readTrials(data, Date.now() / 1000, this.paged.isUsed) : NO_TRIALS;
  });
  /** The length of the folder that all trials are in. */
  readonly commonFolderLength: number = $derived(findCommonFolder(this.trials.names).length);
  readonly metrics: readonly TrialMetric[] = $derived.by(() => {
    const { data } = this;
    return data ? readMetrics(data) : [];
  });

  readonly studies: readonly StudyInfo[] = $derived.by(() => this.data?.studies ?? []);
  readonly study: StudyInfo | null = $derived.by(() => {
    const { study } = this.settings;
    return this.studies.find(({ name }) => name === study.value) ?? null;
  });
  /** Whether the trials are of one study, so that it makes sense to look for the best of them. */
  readonly isOneStudy: boolean = $derived(this.studies.length < 2 || this.study !== null);

  readonly metric: TrialMetric | undefined = $derived.by(() => {
    const { metric } = this.settings;
    return this.metrics.find(({ key }) => key === metric.value) ?? findDefaultMetric(this.metrics);
  });
  readonly objective: Objective | null = $derived.by(() => {
    const column = this.metric && this.trials.findColumn(this.metric.key);
    const { value } = this.settings.goal;
    const minimize = (value === 'usual' ? this.metric?.goal : value) === 'min';
    return column ? { column, minimize } : null;
  });

  readonly hparams: readonly TrialColumn[] = $derived(
    this.trials.columns.filter(({ kind }) => kind === 'hparam'),
  );
  /** In the order in which all views show them. */
  readonly visibleColumns: readonly TrialColumn[] = $derived.by(() => {
    const { columnOrder, hiddenColumns, addedColumns } = this.settings;
    const preferences = {
      order: columnOrder.value,
      hidden: hiddenColumns.value,
      added: addedColumns.value,
    };
    return listVisibleColumns(this.trials.columns, preferences, this.metric?.key ?? null);
  });

  /** The visible columns, the status if it varies, and all columns with a filter. */
  readonly filterColumns: readonly TrialColumn[] = $derived.by(() => {
    const status = this.trials.findColumn(STATUS_KEY);
    const filtered = [...this.filters.keys()].flatMap((key) => this.trials.findColumn(key) ?? []);
    const all = [...this.visibleColumns, ...(status?.varies ? [status] : []), ...filtered];
    return [...new Set(all)].filter(({ key }) => key !== NAME_KEY);
  });

  readonly filters: ColumnFilters = $derived.by(
    () => this.#previewedFilters ?? this.settings.filters.value,
  );
  /** 1 for each trial of which a run matches the run filter; trials of study files have no runs. */
  readonly #runFilterMask: Uint8Array = $derived.by(() => {
    if (this.paged.isUsed) return this.paged.candidateMask;
    const { runs } = this.context;
    const { count } = this.trials;
    const { storedMask, runs: runsOfTrials } = this.trials;
    return Uint8Array.from({ length: count }, (_, row) => {
      if (storedMask?.[row]) return 1;
      return Number(runsOfTrials[row]?.some((run) => runs.matchesFilter(run)) ?? false);
    });
  });
  readonly passingMask: Uint8Array = $derived(
    applyFilters(this.trials, this.filters, this.#runFilterMask),
  );
  readonly passingRows: Int32Array = $derived(listMaskRows(this.passingMask));
  /** By default, the best trials of a study come first, and those that are not ranked last. */
  readonly sortKeys: readonly SortOrder[] = $derived.by(() => {
    const keys = this.settings.sort.value;
    if (keys.length > 0 || !this.objective || !this.isOneStudy) return keys;
    const { column, minimize } = this.objective;
    return [{ key: column.key, descending: !minimize }];
  });
  readonly #allSorted: Int32Array = $derived.by(() => {
    const all = Int32Array.from({ length: this.trials.count }, (_, row) => row);
    const sorted = sortRows(all, this.sortKeys, this.trials);
    if (this.settings.sort.value.length > 0 || this.sortKeys.length === 0) return sorted;
    const ranked = this.#listRankedRows(sorted);
    if (ranked.length === sorted.length) return sorted;
    return Int32Array.from(new Set([...ranked, ...sorted]));
  });
  /** A filter that is dragged does not sort them again. */
  readonly sortedRows: Int32Array = $derived.by(() => {
    const { passingMask } = this;
    return this.#allSorted.filter((row) => passingMask[row]);
  });

  /** The rows of the table. Of a large log, those that are not loaded are undefined. */
  readonly tableRows: readonly (number | undefined)[] = $derived.by(() =>
    this.paged.isUsed ? this.paged.rows : Array.from(this.sortedRows),
  );
  /** Numbers of trials that pass the filters, and of all. */
  readonly counts: { readonly shown: number; readonly all: number } = $derived.by(() => {
    const { matched, total, isUsed } = this.paged;
    if (isUsed) return { shown: matched, all: total };
    return { shown: this.passingRows.length, all: this.trials.count };
  });
  /** The number of trials in plots, whether they pass the filters or not. */
  readonly drawnCount: number = $derived.by(() => this.trialColors.drawOrder.length);

  /** The passing rows, without changes during a drag; for slow computations. */
  readonly committedRows: Int32Array = $derived.by(() =>
    listMaskRows(applyFilters(this.trials, this.settings.filters.value, this.#runFilterMask)),
  );
  /** Those of them that have a result. */
  readonly completedRows: Int32Array = $derived.by(() =>
    this.data ? listCompletedRows(this.committedRows, this.data.rows.status) : this.committedRows,
  );
  /** Those of them that can be the best. */
  readonly rankedRows: Int32Array = $derived.by(() => this.#listRankedRows(this.completedRows));
  /** Computed in slices after the plots are drawn, because it takes longer. */
  insights = $state.raw<Insights | null>(null);
  readonly bestRow: number | null = $derived.by(() => {
    if (!this.objective || !this.isOneStudy) return null;
    if (this.paged.isUsed) return this.paged.bestRow;
    return rankByObjective(this.objective, this.rankedRows)[0] ?? null;
  });

  readonly colorColumn: TrialColumn | null = $derived.by(() => {
    const { value } = this.settings.colorBy;
    return (
      (value === null ? null : this.trials.findColumn(value)) ?? this.objective?.column ?? null
    );
  });
  readonly trialColors: TrialColors = $derived.by(() => {
    const column = this.colorColumn ?? this.trials.columns[0];
    if (!column) return { levels: new Uint8Array(), drawOrder: new Int32Array() };
    const colors = computeTrialColors(this.getAxis(column), this.#isMinimized(column));
    if (!this.paged.isUsed) return colors;
    const { drawnMask } = this.paged;
    return { ...colors, drawOrder: colors.drawOrder.filter((row) => drawnMask[row]) };
  });
  readonly colorLegend: ColorLegend | null = $derived.by(() => {
    const column = this.colorColumn;
    return column && makeColorLegend(this.getAxis(column), this.#isMinimized(column));
  });

  /** Replaced when the trials or the axis settings change. */
  readonly #scatterAxes: ScatterAxisCache = $derived.by(() => {
    void this.trials;
    void this.settings.axes.value;
    return new ScatterAxisCache((column) => makeAxis(column, this.getScale(column)));
  });

  get error(): QueryError | null {
    return this.paged.isUsed ? this.paged.error : this.#allTrials.error;
  }

  retry(): void {
    if (this.paged.isUsed) this.paged.retry();
    else this.#allTrials.retry();
  }

  #listRankedRows(rows: Int32Array): Int32Array {
    return this.data ? listRankedRows(rows, this.data.rows.status) : rows;
  }

  /** Return the distribution of a column over all trials of a large log. */
  findFacet({ key }: TrialColumn): Facet | undefined {
    return this.paged.isUsed ? this.paged.findFacet(key) : undefined;
  }

  #isMinimized(column: TrialColumn): boolean {
    return column === this.objective?.column && this.objective.minimize;
  }

  /** Return the axis of a column with the user's scale and direction. */
  getAxis(column: TrialColumn): ColumnAxis {
    const flipped = this.settings.axes.value.get(column.key)?.flipped;
    return makeAxis(column, this.getScale(column), flipped);
  }

  getScale(column: TrialColumn): AxisScale {
    return this.settings.axes.value.get(column.key)?.scale ?? getDefaultScale(column);
  }

  /** Return the axis of a column for scatter plots, which are never inverted. */
  getScatterAxis(column: TrialColumn): ScatterAxis {
    return this.#scatterAxes.get(column);
  }

  setScale(key: string, scale: AxisScale): void {
    const { axes } = this.settings;
    axes.set(withAxisSetting(axes.value, key, { scale }));
  }

  toggleInverted(key: string): void {
    const { axes } = this.settings;
    axes.set(withAxisSetting(axes.value, key, { flipped: !axes.value.get(key)?.flipped }));
  }

  /** Show one study, or all; the direction of the objective is that of the study. */
  selectStudy(name: string | null): void {
    this.settings.goal.set('usual');
    this.settings.study.set(name, 'push');
  }

  /** Apply filters during a drag; `commitFilters` keeps them. */
  previewFilters(changes: readonly (readonly [string, ColumnFilter | null])[]): void {
    this.#previewedFilters = changes.reduce(
      (filters, [key, filter]) => withFilter(filters, key, filter),
      this.settings.filters.value,
    );
  }

  commitFilters(): void {
    if (this.#previewedFilters) this.settings.filters.set(this.#previewedFilters);
    this.#previewedFilters = null;
  }

  setFilter(key: string, filter: ColumnFilter | null): void {
    this.settings.filters.set(withFilter(this.settings.filters.value, key, filter));
  }

  clearFilters(): void {
    this.#previewedFilters = null;
    this.settings.filters.set(NO_FILTERS);
  }

  setColumnVisible(key: string, visible: boolean): void {
    const { hiddenColumns, addedColumns } = this.settings;
    const without = (keys: readonly string[]): string[] => keys.filter((other) => other !== key);
    hiddenColumns.set(
      visible ? without(hiddenColumns.value) : [...without(hiddenColumns.value), key],
    );
    addedColumns.set(visible ? [...without(addedColumns.value), key] : without(addedColumns.value));
  }

  /** Move a column before another one; to the end if that is null. */
  moveColumn(key: string, before: string | null): void {
    const keys = this.visibleColumns.map((column) => column.key);
    this.settings.columnOrder.set(moveKey(keys, key, before));
  }

  /** Highlight the run of the trial under the pointer in the run list. */
  #highlightRun(): void {
    const [run] = this.hoveredRow === null ? [] : (this.trials.runs[this.hoveredRow] ?? []);
    this.context.runs.highlight(run ?? null);
  }

  /** Open the Scalars dashboard with only the runs of a trial selected. */
  openScalars(row: number): void {
    if (this.trials.storedMask?.[row]) return;
    const runs = this.trials.runs[row] ?? [];
    const names = this.context.runs.all.map(({ name }) => name);
    const selected = names.filter((name) =>
      runs.some((run) => name === run || name.startsWith(`${run}/`)),
    );
    // Of a large log, not all runs are known.
    this.context.runs.selectOnly(selected.length > 0 ? selected : runs);
    this.context.url.param('tab', text, '').set('scalars', 'push');
  }

  /** Show all studies if the one in the URL does not exist. */
  #forgetUnknownStudy(): void {
    const { study } = this.settings;
    if (study.value !== null && this.data && !this.study) study.set(null);
  }

  startEffects(): void {
    $effect(() => this.#highlightRun());
    $effect(() => this.#forgetUnknownStudy());
    $effect(() => {
      const { objective, rankedRows, isOneStudy } = this;
      const columns = this.hparams.filter(({ varies }) => varies);
      if (!objective || !isOneStudy) {
        this.insights = null;
        return undefined;
      }
      const task = computeInsights(objective, columns, rankedRows);
      return runAfterPaint(() => runInSlices(task, (insights) => (this.insights = insights)));
    });
  }
}

/** The first declared metric, else one of validation data. */
function findDefaultMetric(metrics: readonly TrialMetric[]): TrialMetric | undefined {
  return (
    metrics.find(({ declared }) => declared) ??
    metrics.find(({ title, group }) => /val|test|eval/i.test(`${group} ${title}`)) ??
    metrics[0]
  );
}

export const [getHParams, setHParams] = createContext<HParamsDashboard>();

/** Register the keyboard shortcuts; call the returned function to remove them. */
export function registerHParamsShortcuts(dashboard: HParamsDashboard): () => void {
  const { view, filtersOpen } = dashboard.settings;
  const step = (by: number): void => {
    const index = HPARAMS_VIEWS.indexOf(view.value);
    const next = HPARAMS_VIEWS[(index + by + HPARAMS_VIEWS.length) % HPARAMS_VIEWS.length];
    if (next) view.set(next, 'push');
  };
  const keys: Omit<Shortcut, 'group'>[] = [
    { keys: 'v', label: m.shortcutNextView, run: () => step(1) },
    { keys: 'Shift+V', label: m.shortcutPreviousView, run: () => step(-1) },
    { keys: 'f', label: common.filters, run: () => filtersOpen.set(!filtersOpen.value) },
    { keys: 'z', label: common.clearFilters, run: () => dashboard.clearFilters() },
  ];
  const unregister = keys.map((key) =>
    dashboard.context.shortcuts.register({ ...key, group: m.title }),
  );
  return () => unregister.forEach((remove) => remove());
}
