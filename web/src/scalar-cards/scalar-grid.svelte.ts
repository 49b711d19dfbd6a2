import { createContext } from 'svelte';

import { type Query, QueryMap } from '../api/create-query.svelte';
import { ServerError } from '../api/errors';
import type { ChartRow } from '../api/query-definition';
import { CHART_ERROR_STATUS } from '../cards/card-sections';
import type {
  CaptureRow,
  DebugSourceRow,
  NearestPointRow,
  Problem,
  RangeStatsRow,
  TagRow,
} from '../api/schemas';
import { type CardGridInfo, CardGridState, hasCard } from '../cards/card-grid.svelte';
import * as common from '../catalog/common';
import * as m from '../catalog/scalars';
import type { Annotation, AxisFormat, Band, Line, NumberRange, ScaleType } from '../charts/types';
import { formatCount } from '../lib/format';
import type { Context, DashboardApi, XAxis } from '../plugin/context';
import {
  makeBandCenterLine,
  type BandGroup,
  listCaptureFlags,
  countNonFinite,
  getCountRange,
  getRunOfLine,
  listChartRuns,
  makeBandGroups,
  makeBands,
  makeDebuggerAnnotations,
  makeLines,
  makeMarginBands,
  type ScalarCard,
} from './chart-lines';
import { withoutSharedFolder } from './tooltip-rows';
import {
  captureMarksQuery,
  chartQuery,
  countRuns,
  debuggerMarksQuery,
  hoverQuery,
  makeChartRequest,
  makeChartsView,
  nearestPointsQuery,
  rangeStatsQuery,
  type ScalarChartRequest,
  type TagPositionRequest,
  type TagRangeRequest,
} from './query';
import {
  AUTO_RANGES,
  createScalarSettings,
  type LineMode,
  type ScalarSettings,
  setLineMode,
} from './scalar-settings';

const NO_LINES: readonly Line[] = [];
const NO_LABELS: ReadonlyMap<string, string> = new Map();
/** More labels at the ends of lines overlap. */
const MAX_END_LABELS = 8;
const MIN_END_LABELS_PX = 520;
const MAX_LEGEND_ENTRIES = 12;
/** The legend has this many rows, and columns of at least this width. */
const LEGEND_ROWS = 2;
const LEGEND_COLUMN_PX = 100;
const NO_GROUPS: readonly BandGroup[] = [];

/** The data of a card's chart and what is drawn of it. */
export class ScalarChartModel {
  readonly #grid: ScalarGridState;
  /** The tooltip may outlive the component of the card, so the card is stored here. */
  card: ScalarCard;

  /** Width of the chart in pixels; nothing is loaded while it is 0. */
  width = $state(0);
  readonly query: Query<ChartRow>;
  /** The server rejected this chart, for example because the baseline does not have its tags. */
  readonly isRejected = $derived.by(() => {
    const { error } = this.query;
    return error instanceof ServerError && error.status === CHART_ERROR_STATUS;
  });
  /** The chart shows the response to an earlier request, as for other runs. */
  readonly isStale = $derived.by(() => this.query.isStale);
  readonly response = $derived.by(() => {
    const { error, data, isStale } = this.query;
    // There will be no response for what is selected now. Lost connections are restored.
    const isRefused = isStale && error instanceof ServerError;
    return this.isRejected || isRefused ? null : (data ?? null);
  });
  /** A line for each series of the response. */
  readonly series = $derived.by(() => this.#makeLines(this.response));
  readonly #margins = $derived.by(() => makeMarginBands(this.series, this.card));
  readonly lines = $derived(this.#margins.length > 0 ? NO_LINES : this.series);
  /** A band for each group of runs. */
  readonly groups = $derived.by((): readonly Band[] =>
    this.response ? makeBands(this.response, this.card, this.#grid.bandGroups) : [],
  );
  readonly bands = $derived([...this.#margins, ...this.groups]);
  /** Everything that has a value at the cursor. */
  readonly readable = $derived([...this.bands.map(makeBandCenterLine), ...this.lines]);
  /** Names without the folder that all lines of the chart share, by the id of the line. */
  readonly shortLabels = $derived.by(() => {
    const labels = withoutSharedFolder(this.readable.map(({ label }) => label));
    return new Map(this.readable.map(({ id, label }) => [id, labels.get(label) ?? label]));
  });
  /** Labels at the ends of lines: in wide charts with few lines and one axis. */
  readonly endLabels = $derived.by(() => {
    const { length } = this.readable;
    const isFit = length > 1 && length <= MAX_END_LABELS && this.width >= MIN_END_LABELS_PX;
    const isDrawn = isFit && !this.#isScatter && this.card.right.length === 0;
    return isDrawn && this.#settings.showLegend.value ? this.shortLabels : NO_LABELS;
  });
  /** Whether a legend below the chart names the lines; with more lines, only the tooltip does. */
  readonly hasLegend = $derived.by(() => {
    const { length } = this.readable;
    const maxLength = LEGEND_ROWS * Math.max(1, Math.floor(this.width / LEGEND_COLUMN_PX));
    const isFit = length > 1 && length <= Math.min(maxLength, MAX_LEGEND_ENTRIES);
    return isFit && this.endLabels.size === 0 && this.#settings.showLegend.value;
  });
  readonly annotations = $derived.by(() => this.#makeAnnotations());
  readonly zoom = $derived.by(() => this.#settings.zooms.value.get(this.card.id) ?? null);
  readonly axisRanges = $derived.by(
    () => this.#settings.axisRanges.value.get(this.card.id) ?? AUTO_RANGES,
  );
  readonly display = $derived.by(() => this.#settings.displays.value.get(this.card.id) ?? 'chart');
  readonly caption = $derived.by(() =>
    this.response && !this.isStale ? makeCaption(this.response, this.card) : '',
  );
  readonly points = $derived(this.response?.points ?? 0);
  readonly captionDetails = $derived.by(() =>
    this.response ? makeCaptionDetails(this.response) : '',
  );
  readonly nonFiniteCount = $derived(this.response ? countNonFinite(this.response) : 0);
  readonly lastStep = $derived(
    this.response?.lines.reduce((last, line) => Math.max(last, line.last?.step ?? -1), -1) ?? -1,
  );
  /** The lines of the highlighted run. */
  readonly highlighted = $derived.by(() => this.#findHighlighted());

  constructor(grid: ScalarGridState, card: ScalarCard) {
    this.#grid = grid;
    this.card = $state.raw(card);
    grid.charts.add(this);
    $effect.pre(() => () => void grid.charts.delete(this));
    this.query = grid.context.query(chartQuery, () =>
      this.width > 0 && this.card.tags.length > 0 ? this.#request : null,
    );
  }

  get #settings() {
    return this.#grid.settings;
  }

  get xScale(): ScaleType {
    return hasCard(this.#settings.logX.value, this.card.id) ? 'log' : 'linear';
  }

  get yScale(): ScaleType {
    return hasCard(this.#settings.logY.value, this.card.id) ? 'log' : 'linear';
  }

  get xFormat(): AxisFormat {
    return getAxisFormat(this.#settings.x.value);
  }

  /** A response that has every point is also used for a zoomed chart. */
  get #request(): ScalarChartRequest {
    const { context, chartsView, bandGroups } = this.#grid;
    const make = (visible: NumberRange | null): ScalarChartRequest =>
      makeChartRequest(
        chartsView,
        countRuns(context.runs, bandGroups),
        this.card.tags,
        this.width,
        visible,
      );
    const whole = make(null);
    const isComplete = context.queries.peek(chartQuery, whole)?.reduced === false;
    return this.#visibleRange === null || isComplete ? whole : make(this.#visibleRange);
  }

  get #isScatter(): boolean {
    return this.#settings.x.value.startsWith('metric:');
  }

  /** The visible part of the x axis if it is known and points are sorted by x. */
  get #visibleRange(): NumberRange | null {
    if (this.#isScatter) return null;
    const { low, high } = this.axisRanges.x;
    return this.zoom?.x ?? (low === null || high === null ? null : [low, high]);
  }

  #makeLines(response: ChartRow | null): readonly Line[] {
    if (!response) return NO_LINES;
    const { runs } = this.#grid.context;
    const markers = this.#settings.extremeMarkers.value;
    return makeLines(response, this.card, { runs, markers, scatter: this.#isScatter });
  }

  /** Annotations by users, and the profiler captures and numerical problems of the runs. */
  #makeAnnotations(): readonly Annotation[] {
    const axis = this.#settings.x.value;
    const lines = this.response?.lines ?? [];
    const runs = lines.map(({ run }) => run);
    const markedLines = lines.map(({ run, first, last }) => ({
      run,
      start: Number(first?.wall_time ?? NaN),
      end: Number(last?.wall_time ?? NaN),
    }));
    return [
      ...this.#findUserAnnotations(axis),
      ...listCaptureFlags(this.#grid.captures, runs, axis),
      ...makeDebuggerAnnotations(this.#grid.debuggerSources, markedLines, axis),
    ];
  }

  #findUserAnnotations(axis: XAxis): Annotation[] {
    if (axis !== 'step') return [];
    const { tags } = this.card;
    return this.#grid.context.notes.annotations
      .filter(({ tag }) => tag === null || tags.includes(tag))
      .map(({ id, step, text }) => ({ id, x: step, text }));
  }

  #findHighlighted(): readonly string[] {
    const run = this.#grid.context.runs.highlighted;
    if (run === null) return [];
    return this.lines.map(({ id }) => id).filter((id) => getRunOfLine(id) === run);
  }
}

/** Summarize how many runs, tags and points are drawn. Reduced data is always mentioned. */
function makeCaption(response: ChartRow, card: ScalarCard): string {
  const counts = [
    common.runCount({ count: response.runs }),
    ...(card.tags.length > 1 ? [common.tagCount({ count: card.tags.length })] : []),
  ];
  if (response.bands.length > 0) {
    const range = getCountRange(response.bands);
    const perStep = range && range.low < range.high ? [m.captionRunsPerStep(range)] : [];
    return [...counts, ...perStep, common.pointCount({ count: response.points })].join(' · ');
  }
  if (!response.reduced) return [...counts, m.captionAllPoints].join(' · ');
  if (response.thinned) return [...counts, m.captionReducedExport].join(' · ');
  const drawn = response.lines.reduce((sum, line) => sum + line.y.length, 0);
  return m.captionDownsampled({ drawn: formatCount(drawn), points: formatCount(response.points) });
}

function makeCaptionDetails({ reduced, thinned, points }: ChartRow): string {
  if (!reduced) return m.captionAllPointsHint;
  const hint = thinned ? m.captionReducedExportHint : m.captionDownsampledHint;
  return hint({ count: points });
}

function getAxisFormat(axis: XAxis): AxisFormat {
  if (axis === 'wall') return 'time';
  if (axis === 'relative') return 'duration';
  return axis.startsWith('metric:') ? 'number' : 'step';
}

/** A position on a chart. */
export interface PointerTarget {
  /** Identifies a card on the page; a pinned card is shown twice. */
  readonly key: string;
  readonly chart: ScalarChartModel;
  /** Return the screen position of a value on the x axis. */
  readonly locate: (x: number) => { readonly left: number; readonly top: number };
  readonly x: number;
  /** null if the cursor was moved by keyboard. */
  readonly y: number | null;
  readonly nearest: string | null;
}

/** Exact values are requested when the pointer has rested for this time. */
const HOVER_DELAY_MS = 90;

/** The chart under the pointer, and the chart that was clicked. */
export class PointerState {
  hover = $state.raw<PointerTarget | null>(null);
  pinned = $state.raw<PointerTarget | null>(null);
  /** The chart that keyboard shortcuts apply to. */
  activeChart = $state.raw<ScalarChartModel | null>(null);
}

/** Follow the logged points at the pointer; lines have only some of them. */
export function queryExactPoints(
  grid: ScalarGridState,
  getTarget: () => PointerTarget | null,
): Query<readonly NearestPointRow[]> {
  return grid.context.query(
    hoverQuery,
    () => {
      const target = getTarget();
      const { runs, x, smoothing, baseline, groups } = grid.chartsView;
      if (!target || groups !== null) return null;
      return { runs, x, smoothing, baseline, tags: target.chart.card.tags, x_value: target.x };
    },
    { debounceMs: HOVER_DELAY_MS, keepPrevious: false },
  );
}

/** State of a dashboard with scalar cards. */
export abstract class ScalarGridState<C extends ScalarCard = ScalarCard> extends CardGridState<C> {
  readonly settings: ScalarSettings;
  readonly api: DashboardApi;
  readonly pointer = new PointerState();
  /** The charts on screen; not reactive. */
  readonly charts = new Set<ScalarChartModel>();
  /** Profiler captures; null until effects are started. */
  #captures = $state.raw<Query<readonly CaptureRow[]> | null>(null);
  /** Dumps and recordings of the debugger; null until effects are started. */
  #debuggerSources = $state.raw<Query<readonly DebugSourceRow[]> | null>(null);
  /** Why the last export failed. */
  exportError = $state.raw<Problem | null>(null);

  /** What bands combine; empty in other modes. */
  readonly bandGroups = $derived.by(() =>
    this.settings.mode.value === 'bands' ? makeBandGroups(this.context.runs) : NO_GROUPS,
  );
  readonly chartsView = $derived.by(() =>
    makeChartsView(this.settings, this.context.runs, this.bandGroups),
  );

  readonly #seriesView = $derived.by(() => {
    const { runs, x, smoothing, baseline } = this.chartsView;
    return { runs, x, smoothing, baseline };
  });
  readonly #pinnedView = $derived.by(() => {
    const { pinned, range } = this.context.cursor;
    return pinned === null || range ? null : { ...this.#seriesView, x_value: pinned };
  });
  readonly #rangeView = $derived.by(() => {
    const { range } = this.context.cursor;
    return range && { ...this.#seriesView, start: range[0], stop: range[1] };
  });
  /** The values at the pinned position, by tag, for the tables below charts. */
  readonly pinnedPoints: QueryMap<TagPositionRequest, readonly NearestPointRow[]>;
  /** Statistics of the selected range, by tag. */
  readonly rangeStats: QueryMap<TagRangeRequest, readonly RangeStatsRow[]>;

  constructor(
    context: Context,
    info: CardGridInfo,
    api: DashboardApi = context.api,
    settings: ScalarSettings = createScalarSettings(context, info.name),
  ) {
    super(context, info);
    this.settings = settings;
    this.api = api;
    // The values of another position would be wrong.
    const options = { keepPrevious: false };
    const { queries } = context;
    this.pinnedPoints = new QueryMap(
      queries,
      nearestPointsQuery,
      (tag) => this.#pinnedView && { view: this.#pinnedView, tag },
      options,
    );
    this.rangeStats = new QueryMap(
      queries,
      rangeStatsQuery,
      (tag) => this.#rangeView && { view: this.#rangeView, tag },
      options,
    );
  }

  override startEffects(): void {
    super.startEffects();
    // The table shows each run in the color of its band.
    $effect(() => {
      const { bandGroups } = this;
      if (bandGroups.length === 0) return undefined;
      const colors = bandGroups.flatMap(({ color, runs }) =>
        runs.map((run) => [run, color] as const),
      );
      return this.context.runs.overrideColors(new Map(colors));
    });
    const isActive = (): boolean => this.context.isDashboardActive('profile');
    this.#captures = this.context.query(captureMarksQuery, () => (isActive() ? {} : null));
    this.#debuggerSources = this.context.query(debuggerMarksQuery, () =>
      this.context.isDashboardActive('debugger') ? {} : null,
    );
  }

  /** Charts are useful without them; the Debugger dashboard shows why they cannot be loaded. */
  get debuggerSources(): readonly DebugSourceRow[] {
    return this.#debuggerSources?.data ?? [];
  }

  /** Charts are useful without captures; the Profile dashboard shows why they cannot be loaded. */
  get captures(): readonly CaptureRow[] {
    return this.#captures?.data ?? [];
  }

  setLineMode(mode: LineMode): void {
    const charts = [...this.charts].flatMap(({ response }) =>
      response ? [listChartRuns(response, this.bandGroups)] : [],
    );
    setLineMode(mode, this.settings, this.context.runs, charts);
  }

  override clearSelection(): void {
    const { cursor } = this.context;
    if (cursor.pinned !== null) cursor.pin(null);
    else if (cursor.range !== null) cursor.selectRange(null);
    else super.clearSelection();
  }

  protected override includesTag({ kind }: TagRow): boolean {
    return kind === 'scalar';
  }
}

export const [getScalarGrid, setScalarGrid] = createContext<ScalarGridState>();
