/** State of the PR curves dashboard and of its cards, shortcuts and commands. */
import { createContext, untrack } from 'svelte';

import { type Query, QueryMap } from '../../api/create-query.svelte';
import type { CurveRow, HistoryRow, Problem, TagRow } from '../../api/schemas';
import {
  type CardGridInfo,
  type CardGridSettings,
  CardGridState,
  createCardGridSettings,
  type PerCard,
  makePerCardCodec,
  withCardValue,
} from '../../cards/card-grid.svelte';
import { buildSections, type Card, createTagCard, type Section } from '../../cards/card-sections';
import {
  downloadBlob,
  type ImageExporter,
  listImageExportItems,
  toCsv,
  toFileName,
  toJson,
} from '../../cards/export';
import {
  indexAtStep,
  makeValueRequest,
  mergeSteps,
  type SortedSteps,
  StepSelection,
  StepsQuery,
} from '../../cards/steps/step-selection.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/pr_curves';
import type { ChartViewport, Line } from '../../charts/types';
import type { MenuItem } from '../../components/MenuItems.svelte';
import { choice, flag, optionalNumber } from '../../lib/codecs';
import { RUN_COLORS } from '../../lib/colors';
import { formatStep } from '../../lib/format';
import { groupByPrefix } from '../../lib/grouping';
import { compileTextFilter } from '../../lib/text-filter';
import type { Command, Context, Shortcut, VisibleRun } from '../../plugin/context';
import { withoutSharedFolder } from '../../scalar-cards/tooltip-rows';
import {
  type CurveType,
  findNextThreshold,
  makeCurveLines,
  makeCurvesTable,
  makeGuides,
  makeSeriesId,
  type PrCurve,
  readCurveAt,
  type ThresholdReading,
} from './pr-curve';
import { curveQuery, type CurveRequest, historyQuery, type TagHistoryRequest } from './query';

/** A chart shows the runs of a tag, or the tags of a run. */
export type Grouping = 'runs' | 'classes';
/** The measure that the history shows. */
export type HistoryMeasure = 'area' | 'f1';

const CURVE_TYPES: readonly CurveType[] = ['PR', 'ROC'];
const DEFAULT_CARD_WIDTH_PX = 340;

export type PrCurveSettings = ReturnType<typeof makePrCurveSettings>;

/** Create the settings: those of the view are in the URL, habits are preferences. */
function makePrCurveSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    ...createCardGridSettings({ url, preferences }, 'pr_curves', DEFAULT_CARD_WIDTH_PX),
    curveType: url.param<CurveType>('curve', choice(CURVE_TYPES, 'PR'), 'PR'),
    grouping: url.param<Grouping>('curves-by', choice(['runs', 'classes'], 'runs'), 'runs'),
    /** The pinned threshold. */
    threshold: url.param('threshold', optionalNumber, null),
    zooms: url.param<PerCard<ChartViewport>>('pr-zoom', zoomsCodec, new Map()),
    /** Show a table of counts below each chart. */
    showTables: url.param('table', flag, false),
    measure: url.param<HistoryMeasure>('measure', choice(['area', 'f1'], 'area'), 'area'),
    showF1Contours: preferences.param('pr_curves-f1-contours', flag, true),
    showHistory: preferences.param('pr_curves-history', flag, true),
  };
}

const zoomsCodec = makePerCardCodec<ChartViewport>(
  4,
  (texts) => {
    const [x0 = NaN, x1 = NaN, y0 = NaN, y1 = NaN] = texts.map(Number);
    return x0 < x1 && y0 < y1 ? { x: [x0, x1], y: [y0, y1] } : null;
  },
  ({ x, y }) => [...x, ...y].map((end) => String(Number(end.toPrecision(6)))),
);

const INFO: CardGridInfo = {
  name: 'pr_curves',
  title: m.title,
  emptyTitle: m.emptyTitle,
  emptyHint: m.emptyHint,
};

export const GROUPING_OPTIONS = [
  { value: 'runs', label: common.runs },
  { value: 'classes', label: m.groupingClasses },
] as const;

/** State shared by the components of the dashboard. Create it where effects can be created. */
export class PrCurvesDashboard extends CardGridState<PrCurveCardModel> {
  readonly settings: PrCurveSettings;
  readonly stepSelection: StepSelection;
  readonly stepsQuery: StepsQuery;
  readonly histories: QueryMap<TagHistoryRequest, readonly HistoryRow[]>;
  /** Number of cards that are loading curves; playback waits for them. */
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
    // The tags of a run are known once their steps are loaded.
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

/** The data of a card. Create it where effects can be created. */
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
  /** Changes only if the series do. */
  readonly #seriesIds = $derived(JSON.stringify(this.series.map(makeSeriesId)));
  readonly error = $derived.by(() => this.#findError());
  readonly isLoading = $derived.by(() => this.#listQueries().some(({ isLoading }) => isLoading));
  /** The curves at the step or, while they are loading, the previous ones. */
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
  /** The last step of the shown curves. */
  readonly shownStep = $derived(
    this.allCurves.reduce((last, { row }) => Math.max(last, row.step), -1),
  );
  readonly subtitle = $derived.by(() => this.#makeSubtitle());
  readonly highlightedIds = $derived.by(() => {
    const run = this.#dashboard.context.runs.highlighted;
    if (run === null || this.card.run !== null) return [];
    return this.curves.filter(({ row }) => row.run === run).map(({ id }) => id);
  });

  constructor(dashboard: PrCurvesDashboard, card: PrCurveCardModel) {
    this.#dashboard = dashboard;
    this.card = $state.raw(card);
    this.#queries = new QueryMap(dashboard.context.queries, curveQuery, (id) =>
      this.#makeRequest(id),
    );
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
    const shortLabels = withoutSharedFolder(found.map(({ label }) => label));
    return found.map((curve) => ({
      ...curve,
      shortLabel: shortLabels.get(curve.label) ?? curve.label,
    }));
  }

  /** Curves have the color of their run; those of one run have a color per tag. */
  #getStyle({ run, tag }: { readonly run: string; readonly tag: string }): CurveStyle {
    const { card } = this;
    if (card.run !== null) {
      const color = RUN_COLORS[card.tags.indexOf(tag) % RUN_COLORS.length] ?? RUN_COLORS[0];
      return { label: getClassName(tag), color, dash: [] };
    }
    const visibleRun = this.#dashboard.context.runs.find(run);
    return {
      label: visibleRun?.label ?? run,
      color: visibleRun?.color ?? '',
      dash: visibleRun?.dash ?? [],
    };
  }

  #makeHistoryLines(): Line[] {
    const seriesIds = this.series.map(makeSeriesId);
    const column = this.#historyColumn;
    return this.card.tags
      .flatMap((tag) => this.#dashboard.histories.get(tag)?.data ?? [])
      .filter((row) => seriesIds.includes(makeSeriesId(row)))
      .map((row) => ({
        id: makeSeriesId(row),
        ...this.#getStyle(row),
        axis: 0,
        x: row.step,
        y: row[column],
      }));
  }

  get #historyColumn(): keyof typeof MEASURE_LABELS {
    if (this.#dashboard.settings.measure.value === 'f1') return 'best_f1';
    return this.curveType === 'ROC' ? 'roc_area' : 'average_precision';
  }

  get historyLabel(): string {
    return MEASURE_LABELS[this.#historyColumn];
  }

  #makeSubtitle(): string {
    const { allCurves, card, shownStep } = this;
    if (allCurves.length === 0) return '';
    const counts = { count: allCurves.length, step: formatStep(shownStep) };
    return card.run === null ? m.subtitleRuns(counts) : m.subtitleTags(counts);
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

const MEASURE_LABELS = {
  average_precision: m.measureApShort,
  roc_area: m.measureAucShort,
  best_f1: m.measureBestF1,
} as const;

export interface HoveredThreshold {
  /** Identifies the card; a tag can have two cards, one of them pinned. */
  readonly cardKey: string;
  readonly card: PrCurveCardState;
  readonly threshold: number;
  /** Id of the nearest curve; null if the threshold was moved by keyboard. */
  readonly nearestId: string | null;
  /** Returns where the tooltip of a threshold is shown. */
  readonly getTooltipPosition: (threshold: number) => {
    readonly left: number;
    readonly top: number;
  };
}

/** The threshold under the pointer, and the pinned one. */
export class ThresholdHover {
  hover = $state.raw<HoveredThreshold | null>(null);
  pinned = $state.raw<HoveredThreshold | null>(null);
}

/** Register the shortcuts that other card grids do not have; return a function that removes them. */
export function registerPrCurveShortcuts(dashboard: PrCurvesDashboard): () => void {
  const group = dashboard.info.title;
  const removers = makeShortcuts(dashboard).map((shortcut) =>
    dashboard.context.shortcuts.register({ ...shortcut, group }),
  );
  return () => removers.forEach((remove) => remove());
}

function makeShortcuts(dashboard: PrCurvesDashboard): Omit<Shortcut, 'group'>[] {
  const { settings, thresholdHover } = dashboard;
  const { curveType, grouping, showTables, zooms, threshold } = settings;
  const move = (direction: 1 | -1) => (): void => {
    if (threshold.value === null || !thresholdHover.pinned) return;
    const next = findNextThreshold(thresholdHover.pinned.card.curves, threshold.value, direction);
    if (next !== null) dashboard.pinThreshold(next);
  };
  return [
    {
      keys: 'o',
      label: m.shortcutCurveType,
      run: () => curveType.set(curveType.value === 'PR' ? 'ROC' : 'PR'),
    },
    {
      keys: 'c',
      label: m.shortcutGrouping,
      run: () => grouping.set(grouping.value === 'runs' ? 'classes' : 'runs', 'push'),
    },
    { keys: 'd', label: m.tableToggle, run: () => showTables.set(!showTables.value) },
    { keys: 'z', label: common.resetAllZooms, run: () => zooms.set(new Map()) },
    { keys: ',', label: m.shortcutPreviousThreshold, run: move(-1) },
    { keys: '.', label: m.shortcutNextThreshold, run: move(1) },
  ];
}

/** Register commands of the command palette; return a function that removes them. */
export function registerPrCurveCommands({ settings, context }: PrCurvesDashboard): () => void {
  const { curveType, grouping, showTables, showF1Contours, showHistory } = settings;
  const actions: readonly Omit<Command, 'kind'>[] = [
    { label: m.commandShowPr, run: () => curveType.set('PR') },
    { label: m.commandShowRoc, run: () => curveType.set('ROC') },
    { label: m.commandGroupByRuns, run: () => grouping.set('runs', 'push') },
    { label: m.commandGroupByClasses, run: () => grouping.set('classes', 'push') },
    { label: m.tableToggle, hint: 'd', run: () => showTables.set(!showTables.value) },
    { label: m.f1Contours, run: () => showF1Contours.set(!showF1Contours.value) },
    { label: m.historyToggle, run: () => showHistory.set(!showHistory.value) },
  ];
  return context.commands.register((query) => {
    const text = query.toLowerCase();
    return actions
      .filter(({ label }) => label.toLowerCase().includes(text))
      .map((action) => ({ ...action, kind: common.commandKindAction }));
  });
}

/** A card shows one tag of all visible runs, or all tags of a section of one run. */
export interface PrCurveCardModel extends Card {
  readonly tags: readonly string[];
  /** The first tag; shortcuts select its steps. */
  readonly tag: string;
  /** null is all visible runs. */
  readonly run: string | null;
}

export function makeTagCard(row: TagRow): PrCurveCardModel {
  const { id, title, description, tag } = createTagCard(row);
  return { id, title, description, tags: [tag], tag, run: null };
}

/** Returns whether a run is known to have a tag. */
export type HasTag = (run: string, tag: string) => boolean;

/** Return sections with one card per run. */
export function buildClassSections(
  rows: readonly TagRow[],
  runs: readonly VisibleRun[],
  hasTag: HasTag,
  { filter, pinned }: CardGridSettings,
): Section<PrCurveCardModel>[] {
  const { matches } = compileTextFilter(filter.value);
  const found = rows.filter(({ tag, display_name }) => matches(tag) || matches(display_name));
  const sections = groupByPrefix(found).map(({ title, items }) => ({
    title: title || common.ungrouped,
    key: title,
    cards: runs.flatMap((run) => makeClassCards(title, items, run, hasTag)),
  }));
  const all = sections.flatMap(({ cards }) => cards);
  const cards = pinned.value.flatMap((id) => all.find((card) => card.id === id) ?? []);
  return [{ title: common.pinned, key: ' pinned', cards }, ...sections].filter(
    ({ cards }) => cards.length > 0,
  );
}

function makeClassCards(
  prefix: string,
  rows: readonly TagRow[],
  { name, label }: VisibleRun,
  hasTag: HasTag,
): PrCurveCardModel[] {
  const tags = rows.map(({ tag }) => tag).filter((tag) => hasTag(name, tag));
  const [tag] = tags;
  if (tag === undefined) return [];
  return [{ id: `${prefix}\n${name}`, title: label, description: '', tags, tag, run: name }];
}

/** Return the part of a tag after the prefix of its section. */
export function getClassName(tag: string): string {
  return tag.slice(tag.indexOf('/') + 1);
}

const CARD_HEADER_HEIGHT_PX = 34;
const LEGEND_ROW_HEIGHT_PX = 19;
/** Further rows are scrolled to. */
const MAX_LEGEND_ROWS = 4;
const SLIDER_HEIGHT_PX = 34;
const WIDE_CHART_HEIGHT_PX = 420;
export const LEGEND_HEIGHT_PX = MAX_LEGEND_ROWS * LEGEND_ROW_HEIGHT_PX;
export const HISTORY_HEIGHT_PX = 92;
export const TABLE_HEIGHT_PX = 132;

/** Both axes range from 0 to 1, so that charts are nearly square. */
const CHART_ASPECT_RATIO = 0.74;

export interface CardParts {
  readonly isWide: boolean;
  readonly hasTable: boolean;
  readonly hasHistory: boolean;
  readonly hasSlider: boolean;
  /** Maximum number of curves. */
  readonly curves: number;
}

export function computeCardHeight(width: number, parts: CardParts): number {
  const chart = parts.isWide ? WIDE_CHART_HEIGHT_PX : Math.round(width * CHART_ASPECT_RATIO);
  const rows = Math.min(MAX_LEGEND_ROWS, Math.max(1, parts.curves));
  return (
    CARD_HEADER_HEIGHT_PX +
    rows * LEGEND_ROW_HEIGHT_PX +
    chart +
    (parts.hasSlider ? SLIDER_HEIGHT_PX : 0) +
    (parts.hasHistory ? HISTORY_HEIGHT_PX : 0) +
    (parts.hasTable ? TABLE_HEIGHT_PX : 0)
  );
}

export function makeCardMenu(
  { settings }: PrCurvesDashboard,
  card: PrCurveCardState,
  getExporter: () => ImageExporter | null,
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  const { zooms } = settings;
  const { id, title } = card.card;
  const exportTable = (format: 'csv' | 'json'): MenuItem => ({
    label: format === 'csv' ? common.exportCsv : common.exportJson,
    disabled: card.curves.length === 0,
    run() {
      const table = makeCurvesTable(card.curves);
      const [text, type] =
        format === 'csv' ? [toCsv(table), 'text/csv'] : [toJson(table), 'application/json'];
      downloadBlob(new Blob([text], { type }), `${toFileName(title)}.${format}`);
    },
  });
  const resetZoom: MenuItem = {
    label: common.resetZoom,
    icon: 'fit',
    disabled: card.zoom === null,
    run: () => zooms.set(withCardValue(zooms.value, id, null)),
  };
  const python: MenuItem = { label: common.copyAsPython, run: showPython };
  return [
    [resetZoom],
    [exportTable('csv'), exportTable('json'), ...listImageExportItems(getExporter, title), python],
  ];
}
