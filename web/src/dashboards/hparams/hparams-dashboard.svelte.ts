import { getContext, setContext } from 'svelte';

import type { Problem } from '../../api/schemas';
import { text } from '../../lib/codecs';
import { runAfterPaint, runInSlices } from '../../lib/tasks';
import type { Context, Shortcut } from '../../plugin/context';
import { PlotFigures } from './export/plot-figures';
import {
  HPARAMS_VIEWS,
  type HParamsSettings,
  makeHParamsSettings,
  VIEW_TITLES,
  withAxisSetting,
} from './hparams-settings';
import {
  type AxisScale,
  type ColumnAxis,
  getDefaultScale,
  makeAxis,
  type ScatterAxis,
  ScatterAxisCache,
} from './model/column-axes';
import { computeInsights, type Insights } from './model/insights';
import { computeTrialColors, type TrialColors } from './model/trial-colors';
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
  moveKey,
  type Objective,
  rankByObjective,
  sortRows,
  type TrialColumn,
  type Trials,
} from './model/trials';
import { readMetrics, readTrials, type TrialMetric } from './model/trials-response';
import { TrialsQuery } from './query.svelte';

const NO_TRIALS = makeTrials([], [], []);

/** The sessions of the log, which of them are looked at, and how: all views are of this. */
export class HParamsDashboard {
  readonly context: Context;
  readonly settings: HParamsSettings;
  readonly trialsQuery: TrialsQuery;
  /** The session under the pointer, in whichever view. */
  hoveredRow = $state<number | null>(null);
  /** What is drawn of the sessions at present. */
  readonly plotFigures = new PlotFigures();
  /** What went wrong with a file that somebody wanted. */
  exportError = $state.raw<Problem | null>(null);
  /** Rules as a hand draws them, before they are let go of. */
  #previewedFilters = $state.raw<ColumnFilters | null>(null);

  constructor(context: Context) {
    this.context = context;
    this.settings = makeHParamsSettings(context);
    this.trialsQuery = new TrialsQuery(context, this.settings);
  }

  readonly trials: Trials = $derived.by(() => {
    const { data } = this.trialsQuery;
    return data ? readTrials(data, Date.now() / 1000) : NO_TRIALS;
  });
  readonly metrics: readonly TrialMetric[] = $derived.by(() => {
    const { data } = this.trialsQuery;
    return data ? readMetrics(data) : [];
  });

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
  /** The columns that are seen, in their order. */
  readonly visibleColumns: readonly TrialColumn[] = $derived.by(() => {
    const { columnOrder, hiddenColumns, addedColumns } = this.settings;
    const wishes = {
      order: columnOrder.value,
      hidden: hiddenColumns.value,
      added: addedColumns.value,
    };
    return listVisibleColumns(this.trials.columns, wishes, this.metric?.key ?? null);
  });

  readonly filters: ColumnFilters = $derived.by(
    () => this.#previewedFilters ?? this.settings.filters.value,
  );
  /** 1 for each session that the filter of the run table lets through. */
  readonly #runFilterMask: Uint8Array = $derived.by(() => {
    const { runs } = this.context;
    const { count } = this.trials;
    return Uint8Array.from({ length: count }, (_, row) =>
      Number(this.trials.runs[row]?.some((run) => runs.matchesFilter(run)) ?? false),
    );
  });
  readonly passingMask: Uint8Array = $derived(
    applyFilters(this.trials, this.filters, this.#runFilterMask),
  );
  readonly passingRows: Int32Array = $derived(listMaskRows(this.passingMask));
  readonly sortedRows: Int32Array = $derived.by(() => {
    const keys = this.settings.sort.value;
    if (keys.length > 0 || !this.objective) return sortRows(this.passingRows, keys, this.trials);
    const { column, minimize } = this.objective;
    return sortRows(this.passingRows, [{ key: column.key, descending: !minimize }], this.trials);
  });

  /** What passes once the hand has let go: for what takes too long to follow it. */
  readonly committedRows: Int32Array = $derived.by(() =>
    listMaskRows(applyFilters(this.trials, this.settings.filters.value, this.#runFilterMask)),
  );
  /** What the best have in common, which takes longer to find than all pictures to draw. */
  insights = $state.raw<Insights | null>(null);
  readonly bestRow: number | null = $derived.by(
    () => (this.objective && rankByObjective(this.objective, this.committedRows)[0]) ?? null,
  );

  readonly colorColumn: TrialColumn | null = $derived.by(() => {
    const { value } = this.settings.colorBy;
    return (
      (value === null ? null : this.trials.findColumn(value)) ?? this.objective?.column ?? null
    );
  });
  readonly trialColors: TrialColors = $derived.by(() => {
    const column = this.colorColumn ?? this.trials.columns[0];
    if (!column) return { levels: new Uint8Array(), drawOrder: new Int32Array() };
    return computeTrialColors(
      this.getAxis(column),
      column === this.objective?.column && this.objective.minimize,
    );
  });

  /** Another one for other sessions or other wishes. */
  readonly #scatterAxes: ScatterAxisCache = $derived.by(() => {
    void this.trials;
    void this.settings.axes.value;
    return new ScatterAxisCache((column) => makeAxis(column, this.getScale(column)));
  });

  /** An axis the way somebody wants it. */
  getAxis(column: TrialColumn): ColumnAxis {
    const flipped = this.settings.axes.value.get(column.key)?.flipped;
    return makeAxis(column, this.getScale(column), flipped);
  }

  getScale(column: TrialColumn): AxisScale {
    return this.settings.axes.value.get(column.key)?.scale ?? getDefaultScale(column);
  }

  /** As `axisOf`, but never turned around, with where each session stands: for planes. */
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

  /** A rule as it is being drawn; `settle` keeps it. */
  previewFilters(rules: readonly (readonly [string, ColumnFilter | null])[]): void {
    this.#previewedFilters = rules.reduce(
      (all, [key, rule]) => withFilter(all, key, rule),
      this.settings.filters.value,
    );
  }

  commitFilters(): void {
    if (this.#previewedFilters) this.settings.filters.set(this.#previewedFilters);
    this.#previewedFilters = null;
  }

  setFilter(key: string, rule: ColumnFilter | null): void {
    this.settings.filters.set(withFilter(this.settings.filters.value, key, rule));
  }

  clearFilters(): void {
    this.#previewedFilters = null;
    this.settings.filters.set(NO_FILTERS);
  }

  /** Shows or hides a column in all views. */
  setColumnVisible(key: string, shown: boolean): void {
    const { hiddenColumns, addedColumns } = this.settings;
    const without = (keys: readonly string[]): string[] => keys.filter((other) => other !== key);
    hiddenColumns.set(
      shown ? without(hiddenColumns.value) : [...without(hiddenColumns.value), key],
    );
    addedColumns.set(shown ? [...without(addedColumns.value), key] : without(addedColumns.value));
  }

  /** Puts a column before another in all views. */
  moveColumn(key: string, before: string | null): void {
    const keys = this.visibleColumns.map((column) => column.key);
    this.settings.columnOrder.set(moveKey(keys, key, before));
  }

  /** The session under the pointer is lit in the table of runs as well. */
  #highlightRun(): void {
    const [run] = this.hoveredRow === null ? [] : (this.trials.runs[this.hoveredRow] ?? []);
    this.context.runs.highlight(run ?? null);
  }

  /** The curves of a session, and of no other. */
  openScalars(row: number): void {
    const own = this.trials.runs[row] ?? [];
    const names = this.context.runs.all.map(({ name }) => name);
    const below = names.filter((name) =>
      own.some((run) => name === run || name.startsWith(`${run}/`)),
    );
    this.context.runs.selectOnly(below);
    this.context.url.param('tab', text, '').set('scalars', 'push');
  }

  startEffects(): void {
    $effect(() => this.#highlightRun());
    $effect(() => this.trialsQuery.refresh());
    $effect(() => {
      const [goal, rows] = [this.objective, this.committedRows];
      const differing = this.hparams.filter(({ varies }) => varies);
      return goal
        ? runAfterPaint(() =>
            runInSlices(computeInsights(goal, differing, rows), (found) => (this.insights = found)),
          )
        : void (this.insights = null);
    });
    $effect(() => () => this.trialsQuery.dispose());
  }
}

/** What was declared first, else what was measured on data that was not trained on. */
function findDefaultMetric(metrics: readonly TrialMetric[]): TrialMetric | undefined {
  return (
    metrics.find(({ declared }) => declared) ??
    metrics.find(({ title, group }) => /val|test|eval/i.test(`${group} ${title}`)) ??
    metrics[0]
  );
}

const CONTEXT_KEY = Symbol('hparams');

export function setHParams(study: HParamsDashboard): HParamsDashboard {
  return setContext(CONTEXT_KEY, study);
}

export function getHParams(): HParamsDashboard {
  return getContext<HParamsDashboard>(CONTEXT_KEY);
}

/** The keys of the dashboard; returns how to take them back. */
export function registerHParamsShortcuts(study: HParamsDashboard): () => void {
  const { view, filtersOpen } = study.settings;
  const step = (by: number): void => {
    const at = HPARAMS_VIEWS.indexOf(view.value);
    const next = HPARAMS_VIEWS[(at + by + HPARAMS_VIEWS.length) % HPARAMS_VIEWS.length];
    if (next) view.set(next, 'push');
  };
  const keys: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'v',
      label: `Next view (${VIEW_TITLES.table}, ${VIEW_TITLES.parallel}, …)`,
      run: () => step(1),
    },
    { keys: 'Shift+V', label: 'View before', run: () => step(-1) },
    { keys: 'f', label: 'Filters', run: () => filtersOpen.set(!filtersOpen.value) },
    { keys: 'z', label: 'Clear all filters', run: () => study.clearFilters() },
  ];
  const stops = keys.map((key) => study.context.shortcuts.register({ ...key, group: 'HParams' }));
  return () => stops.forEach((stop) => stop());
}
