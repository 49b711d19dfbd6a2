import { createContext, untrack } from 'svelte';

import { makeValueRequest, type SortedSteps } from '../../api/client';
import { type Query, QueryMap } from '../../api/create-query.svelte';
import type { CurveRow, HistoryRow, Problem, TagRow } from '../../api/schemas';
import { type CardGridInfo, CardGridState } from '../../cards/card-grid.svelte';
import { buildSections } from '../../cards/card-sections';
import { createCardGridSettings, type PerCard, perCardCodec } from '../../cards/grid-settings';
import { StepSelection } from '../../cards/steps/step-selection.svelte';
import { indexAtStep, mergeSteps } from '../../cards/steps/step-series';
import { StepsQuery } from '../../cards/steps/steps-query.svelte';
import type { ChartViewport, Line } from '../../charts/types';
import { choice, flag, optionalNumber } from '../../lib/codecs';
import { RUN_COLORS } from '../../lib/colors';
import { formatPlural, formatStep } from '../../lib/format';
import type { Command, Context, Shortcut } from '../../plugin/context';
import { withoutSharedFolder } from '../../scalar-cards/tooltip-rows';
import {
  type CurveType,
  findNextThreshold,
  makeCurveLines,
  makeGuides,
  makeSeriesId,
  type PrCurve,
  readCurveAt,
  type ThresholdReading,
} from './pr-curve';
import {
  buildClassSections,
  getClassName,
  makeTagCard,
  type PrCurveCardModel,
} from './pr-curve-cards';
import { type CurveRequest, curveQuery, historyQuery, type TagHistoryRequest } from './query';

/** What stands in one chart: the runs of a tag, or the tags of a run. */
export type Grouping = 'runs' | 'classes';
/** What is told over the steps. */
export type HistoryMeasure = 'area' | 'f1';

const CURVE_TYPES: readonly CurveType[] = ['PR', 'ROC'];
const DEFAULT_CARD_WIDTH_PX = 340;

export type PrCurveSettings = ReturnType<typeof makePrCurveSettings>;

/** What the view is set to. All of it is in the address, but for what is a matter of taste. */
export function makePrCurveSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    ...createCardGridSettings({ url, preferences }, 'pr_curves', DEFAULT_CARD_WIDTH_PX),
    curveType: url.param<CurveType>('curve', choice(CURVE_TYPES, 'PR'), 'PR'),
    grouping: url.param<Grouping>('by', choice(['runs', 'classes'], 'runs'), 'runs'),
    /** The threshold that was clicked. */
    threshold: url.param('threshold', optionalNumber, null),
    zooms: url.param<PerCard<ChartViewport>>('przoom', zoomsCodec, new Map()),
    /** Whether there is a table of counts below each chart. */
    showTables: url.param('table', flag, false),
    measure: url.param<HistoryMeasure>('measure', choice(['area', 'f1'], 'area'), 'area'),
    showF1Contours: preferences.param('pr_curves-levels', flag, true),
    showHistory: preferences.param('pr_curves-history', flag, true),
  };
}

/** What is seen of a card: both ends of both axes. */
const zoomsCodec = perCardCodec<ChartViewport>(
  4,
  (texts) => {
    const [x0 = NaN, x1 = NaN, y0 = NaN, y1 = NaN] = texts.map(Number);
    return x0 < x1 && y0 < y1 ? { x: [x0, x1], y: [y0, y1] } : null;
  },
  ({ x, y }) => [...x, ...y].map((end) => String(Number(end.toPrecision(6)))),
);

const INFO: CardGridInfo = {
  name: 'pr_curves',
  title: 'PR curves',
  noun: 'PR curves',
  emptyHint: 'Labels and scores that are logged together become a curve here.',
};

/** All that the parts of the view share. To be made where effects live. */
export class PrCurvesDashboard extends CardGridState<PrCurveCardModel> {
  readonly settings: PrCurveSettings;
  readonly stepSelection: StepSelection;
  readonly stepsQuery: StepsQuery;
  readonly histories: QueryMap<TagHistoryRequest, readonly HistoryRow[]>;
  /** Cards that wait for curves; playback waits for them too. */
  loadingCards = $state(0);
  readonly thresholdHover = new ThresholdHover();

  readonly sections = $derived.by(() => {
    const { filter, pinned, grouping } = this.settings;
    if (grouping.value === 'runs')
      return buildSections(this.visibleRows, makeTagCard, {
        filter: filter.value,
        pinned: pinned.value,
      });
    const { visible } = this.context.runs;
    return buildClassSections(
      this.visibleRows,
      visible,
      (run, tag) => this.#hasCurve(run, tag),
      this.settings,
    );
  });

  constructor(context: Context) {
    super(context, INFO);
    this.settings = makePrCurveSettings(context);
    this.stepSelection = new StepSelection(context.url);
    this.stepsQuery = new StepsQuery(this);
    this.histories = new QueryMap(context.queries, historyQuery, (tag) => ({
      view: { runs: this.requestedRuns },
      tag,
    }));
  }

  override startEffects(): void {
    super.startEffects();
    // Which tags a run has is not known before its steps are.
    $effect(() => {
      if (this.settings.grouping.value !== 'classes') return;
      const stops = this.visibleRows.map(({ tag }) => this.stepsQuery.subscribe(tag));
      return () => stops.forEach((stop) => stop());
    });
  }

  protected override includesTag({ plugin }: TagRow): boolean {
    return plugin === 'pr_curves';
  }

  override clearSelection(): void {
    const { threshold } = this.settings;
    if (threshold.value !== null) this.pinThreshold(null);
    else super.clearSelection();
  }

  pinThreshold(threshold: number | null): void {
    this.settings.threshold.set(threshold);
    if (threshold === null) this.thresholdHover.pinned = null;
  }

  #hasCurve(run: string, tag: string): boolean {
    return this.stepsQuery.get(tag)?.some((steps) => steps.run === run) ?? false;
  }
}

export const [getPrCurves, setPrCurves] = createContext<PrCurvesDashboard>();

/** What a card draws, kept in step with what has come and with the settings. */
export class PrCurveCardState {
  readonly #dashboard: PrCurvesDashboard;
  card: PrCurveCardModel;

  readonly series = $derived.by(() => this.#findSeries());
  readonly step = $derived.by(() => this.#dashboard.stepSelection.stepOf(this.card.id));
  readonly allSteps = $derived(mergeSteps(this.series));
  /** The series that have a curve at the step, and its position. */
  readonly positions = $derived.by(() =>
    this.series
      .map((steps) => ({ steps, position: indexAtStep(steps, this.step) }))
      .filter(({ position }) => position >= 0),
  );
  readonly #queries: QueryMap<CurveRequest, CurveRow | null>;
  /** Changes only when there are other series. */
  readonly #seriesIds = $derived(JSON.stringify(this.series.map(makeSeriesId)));
  readonly error = $derived.by(() => this.#findError());
  readonly isLoading = $derived.by(() => this.#listQueries().some(({ isLoading }) => isLoading));
  /** The curves at the step, or those seen last while they are on their way. */
  readonly allCurves = $derived.by(() => this.#findCurves());
  readonly curves = $derived(this.allCurves.filter(({ row }) => row.columns !== null));
  readonly unreadableCurves = $derived(this.allCurves.filter(({ row }) => row.error !== null));
  readonly curveType = $derived.by(() => this.#dashboard.settings.curveType.value);
  readonly lines = $derived(makeCurveLines(this.curves, this.curveType));
  readonly guides = $derived.by(() =>
    makeGuides(this.curves, this.curveType, this.#dashboard.settings.showF1Contours.value),
  );
  readonly zoom = $derived.by(() => this.#dashboard.settings.zooms.value.get(this.card.id) ?? null);
  readonly historyLines = $derived.by(() => this.#makeHistoryLines());
  /** How far along the steps the card is. */
  readonly shownStep = $derived(
    this.allCurves.reduce((last, { row }) => Math.max(last, row.step), -1),
  );
  readonly subtitle = $derived.by(() => this.#makeSubtitle());
  readonly highlightedIds = $derived.by(() => {
    const run = this.#dashboard.context.runs.highlighted;
    if (run === null || this.card.run !== null) return [];
    return this.curves.filter(({ row }) => row.run === run).map(({ id }) => id);
  });

  constructor(wall: PrCurvesDashboard, card: PrCurveCardModel) {
    this.#dashboard = wall;
    this.card = $state.raw(card);
    this.#queries = new QueryMap(wall.context.queries, curveQuery, (id) => this.#makeRequest(id));
  }

  /** Load the curves and histories of the card. */
  startEffects(): void {
    $effect(() => subscribeAll(this.#queries, JSON.parse(this.#seriesIds) as string[]));
    $effect(() => {
      if (!this.#dashboard.settings.showHistory.value) return;
      return subscribeAll(this.#dashboard.histories, this.card.tags);
    });
    $effect(() => {
      if (!this.isLoading) return;
      untrack(() => this.#dashboard.loadingCards++);
      return () => untrack(() => this.#dashboard.loadingCards--);
    });
  }

  retry(): void {
    for (const query of this.#listQueries()) if (query.error) query.retry();
  }

  #makeRequest(id: string): CurveRequest | null {
    const found = this.positions.find(({ steps }) => makeSeriesId(steps) === id);
    return found ? { value: makeValueRequest(found.steps, found.position), step: this.step } : null;
  }

  #listQueries(): Query<CurveRow | null>[] {
    return this.#queries.keys.flatMap((id) => this.#queries.get(id) ?? []);
  }

  #findError(): Problem | null {
    return this.#listQueries().find(({ error }) => error)?.error?.problem ?? null;
  }

  readCurvesAt(threshold: number): ThresholdReading[] {
    return this.curves.flatMap((curve) => readCurveAt(curve, threshold) ?? []);
  }

  #findSeries(): readonly SortedSteps[] {
    const { tags, run } = this.card;
    return tags
      .flatMap((tag) => this.#dashboard.stepsQuery.get(tag) ?? [])
      .filter((steps) => run === null || steps.run === run);
  }

  #findCurves(): PrCurve[] {
    const found = this.positions.flatMap(({ steps }) => {
      const row = this.#queries.get(makeSeriesId(steps))?.data;
      return row ? { id: makeSeriesId(row), row, ...this.#getStyle(row) } : [];
    });
    const short = withoutSharedFolder(found.map(({ label }) => label));
    return found.map((curve) => ({ ...curve, shortLabel: short.get(curve.label) ?? curve.label }));
  }

  /** In colours of their runs or, within one run, of their places among the tags. */
  #getStyle({ run, tag }: { readonly run: string; readonly tag: string }): CurveStyle {
    const { card } = this;
    if (card.run !== null) {
      const color = RUN_COLORS[card.tags.indexOf(tag) % RUN_COLORS.length] ?? RUN_COLORS[0];
      return { label: getClassName(tag), color, dash: [] };
    }
    const known = this.#dashboard.context.runs.find(run);
    return { label: known?.label ?? run, color: known?.color ?? '', dash: known?.dash ?? [] };
  }

  #makeHistoryLines(): Line[] {
    const shown = this.series.map(makeSeriesId);
    const column = this.#historyColumn;
    return this.card.tags
      .flatMap((tag) => this.#dashboard.histories.get(tag)?.data ?? [])
      .filter((row) => shown.includes(makeSeriesId(row)))
      .map((row) => ({
        id: makeSeriesId(row),
        ...this.#getStyle(row),
        axis: 0,
        x: row.step,
        y: row[column],
      }));
  }

  get #historyColumn(): 'average_precision' | 'roc_area' | 'best_f1' {
    if (this.#dashboard.settings.measure.value === 'f1') return 'best_f1';
    return this.curveType === 'ROC' ? 'roc_area' : 'average_precision';
  }

  /** What stands at the side of the chart over the steps. */
  get historyLabel(): string {
    return MEASURE_LABELS[this.#historyColumn];
  }

  #makeSubtitle(): string {
    const { allCurves, card, shownStep } = this;
    if (allCurves.length === 0) return '';
    const many =
      card.run === null
        ? formatPlural(allCurves.length, 'run')
        : formatPlural(allCurves.length, 'tag');
    return `${many} · step ${formatStep(shownStep)}`;
  }
}

function subscribeAll<Request, Data>(
  queries: QueryMap<Request, Data>,
  keys: readonly string[],
): () => void {
  const stops = keys.map((key) => queries.subscribe(key));
  return () => stops.forEach((stop) => stop());
}

type CurveStyle = Pick<Line, 'label' | 'color' | 'dash'>;

export const MEASURE_LABELS: Readonly<Record<keyof HistoryColumns, string>> = {
  average_precision: 'AP',
  area: 'area',
  roc_area: 'AUC',
  best_f1: 'best F1',
};

type HistoryColumns = Pick<HistoryRow, 'average_precision' | 'area' | 'roc_area' | 'best_f1'>;

/** What a chart is pointed at with. */
export interface HoveredThreshold {
  /** Which of the cards on the page; one may stand there twice. */
  readonly cardKey: string;
  readonly card: PrCurveCardState;
  readonly threshold: number;
  /** The id of the curve that is nearest; null where a key moved the threshold. */
  readonly nearestId: string | null;
  /** Where on the screen a threshold of this card is told of. */
  readonly getTooltipPosition: (threshold: number) => {
    readonly left: number;
    readonly top: number;
  };
}

/** The chart under the pointer, and the one that was clicked. */
export class ThresholdHover {
  hover = $state.raw<HoveredThreshold | null>(null);
  pinned = $state.raw<HoveredThreshold | null>(null);
}

/** The keys that other walls do not have; returns how to take them back. */
export function registerPrCurveShortcuts(wall: PrCurvesDashboard): () => void {
  const group = wall.info.title;
  const stops = makeShortcuts(wall).map((key) =>
    wall.context.shortcuts.register({ ...key, group }),
  );
  return () => stops.forEach((stop) => stop());
}

function makeShortcuts(wall: PrCurvesDashboard): Omit<Shortcut, 'group'>[] {
  const { settings, thresholdHover } = wall;
  const { curveType, grouping, showTables, zooms, threshold } = settings;
  const move = (direction: 1 | -1) => (): void => {
    if (threshold.value === null || !thresholdHover.pinned) return;
    const next = findNextThreshold(thresholdHover.pinned.card.curves, threshold.value, direction);
    if (next !== null) wall.pinThreshold(next);
  };
  return [
    {
      keys: 'o',
      label: 'PR or ROC curves',
      run: () => curveType.set(curveType.value === 'PR' ? 'ROC' : 'PR'),
    },
    {
      keys: 'c',
      label: 'Runs or classes in one chart',
      run: () => grouping.set(grouping.value === 'runs' ? 'classes' : 'runs', 'push'),
    },
    { keys: 'd', label: 'Table of counts', run: () => showTables.set(!showTables.value) },
    { keys: 'z', label: 'Fit all charts', run: () => zooms.set(new Map()) },
    { keys: ',', label: 'Pinned threshold to the one below', run: move(-1) },
    { keys: '.', label: 'Pinned threshold to the one above', run: move(1) },
  ];
}

/** What the command box finds here. */
export function registerPrCurveCommands({ settings, context }: PrCurvesDashboard): () => void {
  const { curveType, grouping, showTables, showF1Contours, showHistory } = settings;
  const actions: readonly Omit<Command, 'kind'>[] = [
    { label: 'Show PR curves', run: () => curveType.set('PR') },
    { label: 'Show ROC curves', run: () => curveType.set('ROC') },
    { label: 'Compare runs in one chart', run: () => grouping.set('runs', 'push') },
    { label: 'Compare classes in one chart', run: () => grouping.set('classes', 'push') },
    { label: 'Table of counts', hint: 'd', run: () => showTables.set(!showTables.value) },
    { label: 'Lines of equal F1', run: () => showF1Contours.set(!showF1Contours.value) },
    { label: 'Chart over steps', run: () => showHistory.set(!showHistory.value) },
  ];
  return context.commands.register((query) => {
    const words = query.toLowerCase();
    return actions
      .filter(({ label }) => label.toLowerCase().includes(words))
      .map((action) => ({ ...action, kind: 'Action' }));
  });
}
