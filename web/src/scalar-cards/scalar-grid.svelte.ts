import { createContext } from 'svelte';

import { type Query, QueryMap } from '../api/create-query.svelte';
import { ServerError } from '../api/errors';
import type { ChartRow, ChartsView } from '../api/scalar-schemas';
import type {
  CaptureRow,
  DebugSourceRow,
  NearestPointRow,
  Problem,
  RangeStatsRow,
  TagRow,
} from '../api/schemas';
import { type CardGridInfo, CardGridState } from '../cards/card-grid.svelte';
import { hasCard } from '../cards/grid-settings';
import type { Annotation, AxisFormat, Band, Line, NumberRange, ScaleType } from '../charts/types';
import { formatCount, formatInteger, formatPlural } from '../lib/format';
import type { Context, DashboardApi, XAxis } from '../plugin/context';
import { bandCenterLine, countNonFinite, drawBands, drawLines, marginBands } from './chart-lines';
import { createViewRequest } from './chart-request';
import { makeDebuggerMarks } from './debugger-marks';
import { captureFlags } from './profile-captures';
import {
  captureMarksQuery,
  CHART_ERROR_STATUS,
  chartQuery,
  debuggerMarksQuery,
  hoverQuery,
  makeChartRequest,
  nearestPointsQuery,
  rangeStatsQuery,
  type ScalarChartRequest,
  type TagPositionRequest,
  type TagRangeRequest,
} from './query';
import type { ScalarCard } from './scalar-card';
import { AUTO_RANGES, createScalarSettings, type ScalarSettings } from './scalar-settings';

const NO_LINES: readonly Line[] = [];

/** What the chart of a card draws, kept in step with the answer and the settings. */
export class ScalarChartModel {
  readonly #curves: ScalarGridState;
  /** Held here, as who points at a chart may still look at it when its card has gone. */
  card: ScalarCard;

  /** Of the chart, in pixels; nothing is loaded while it is 0. */
  width = $state(0);
  readonly query: Query<ChartRow>;
  /** The server refused this chart, for example because the baseline does not have its tags. */
  readonly isRejected = $derived.by(() => {
    const { error } = this.query;
    return error instanceof ServerError && error.status === CHART_ERROR_STATUS;
  });
  readonly response = $derived.by(() => (this.isRejected ? null : (this.query.data ?? null)));
  /** A line for each series of the answer. */
  readonly series = $derived.by(() => this.#drawLines(this.response));
  readonly #margins = $derived.by(() => marginBands(this.series, this.card));
  readonly lines = $derived(this.#margins.length > 0 ? NO_LINES : this.series);
  /** A band for each group of runs. */
  readonly groups = $derived.by((): readonly Band[] =>
    this.response ? drawBands(this.response, this.card, this.#curves.context.runs) : [],
  );
  readonly bands = $derived([...this.#margins, ...this.groups]);
  /** All that has a value at a place on the axis. */
  readonly readable = $derived([...this.bands.map(bandCenterLine), ...this.lines]);
  readonly flags = $derived.by(() => this.#findFlags());
  readonly zoom = $derived.by(() => this.#settings.zooms.value.get(this.card.id) ?? null);
  readonly axisRanges = $derived.by(
    () => this.#settings.axisRanges.value.get(this.card.id) ?? AUTO_RANGES,
  );
  readonly display = $derived.by(() => this.#settings.displays.value.get(this.card.id) ?? 'chart');
  readonly caption = $derived.by(() => (this.response ? captionOf(this.response, this.card) : ''));
  readonly points = $derived(this.response?.points ?? 0);
  readonly captionDetails = $derived.by(() =>
    this.response ? captionDetailsOf(this.response) : '',
  );
  readonly nonFiniteCount = $derived(this.response ? countNonFinite(this.response) : 0);
  readonly lastStep = $derived(
    this.response?.lines.reduce((last, line) => Math.max(last, line.last?.step ?? -1), -1) ?? -1,
  );
  /** Lines of the run that is looked at. */
  readonly highlighted = $derived.by(() => this.#findHighlighted());

  constructor(curves: ScalarGridState, card: ScalarCard) {
    this.#curves = curves;
    this.card = $state.raw(card);
    this.query = curves.context.query(chartQuery, () =>
      this.width > 0 && this.card.tags.length > 0 ? this.#request : null,
    );
  }

  get #settings() {
    return this.#curves.settings;
  }

  get xScale(): ScaleType {
    return hasCard(this.#settings.logX.value, this.card.id) ? 'log' : 'linear';
  }

  get yScale(): ScaleType {
    return hasCard(this.#settings.logY.value, this.card.id) ? 'log' : 'linear';
  }

  get xFormat(): AxisFormat {
    return xFormatOf(this.#settings.x.value);
  }

  /** A chart that has every point needs no other response for a part of it. */
  get #request(): ScalarChartRequest {
    const { context, viewRequest } = this.#curves;
    const make = (visible: NumberRange | null): ScalarChartRequest =>
      makeChartRequest(
        viewRequest,
        context.runs.visible.length,
        this.card.tags,
        this.width,
        visible,
      );
    const whole = make(null);
    const isComplete = context.queries.peek(chartQuery, whole)?.reduced === false;
    return this.#seen === null || isComplete ? whole : make(this.#seen);
  }

  get #isScatter(): boolean {
    return this.#settings.x.value.startsWith('metric:');
  }

  /** The part of the axis that is seen, where that is known and points lie in its order. */
  get #seen(): NumberRange | null {
    if (this.#isScatter) return null;
    const { low, high } = this.axisRanges.x;
    return this.zoom?.x ?? (low === null || high === null ? null : [low, high]);
  }

  #drawLines(answer: ChartRow | null): readonly Line[] {
    if (!answer) return NO_LINES;
    const { runs } = this.#curves.context;
    const best = this.#settings.extremeMarkers.value;
    return drawLines(answer, this.card, { runs, best, scatter: this.#isScatter });
  }

  /** What somebody wrote down, and when a profiler looked at a run that is drawn. */
  #findFlags(): readonly Annotation[] {
    const axis = this.#settings.x.value;
    const runs = this.response?.lines.map(({ run }) => run) ?? [];
    return [
      ...this.#findNotes(axis),
      ...captureFlags(this.#curves.captures, runs, axis),
      ...makeDebuggerMarks(this.#curves.debuggerSources, runs, axis),
    ];
  }

  #findNotes(axis: XAxis): Annotation[] {
    if (axis !== 'step') return [];
    const { tags } = this.card;
    return this.#curves.context.notes.annotations
      .filter(({ tag }) => tag === null || tags.includes(tag))
      .map(({ id, step, text }) => ({ id, x: step, text }));
  }

  #findHighlighted(): readonly string[] {
    const run = this.#curves.context.runs.highlighted;
    if (run === null) return [];
    return this.lines.filter(({ id }) => id.startsWith(`${run}\n`)).map(({ id }) => id);
  }
}

/** How many runs and how much of their points are seen: nothing is left out without a word. */
function captionOf(answer: ChartRow, card: ScalarCard): string {
  const runs = formatPlural(answer.runs, 'run');
  const tags = card.tags.length > 1 ? ` · ${formatPlural(card.tags.length, 'tag')}` : '';
  if (answer.bands.length > 0) return `${runs}${tags} · ${formatPlural(answer.points, 'point')}`;
  if (!answer.reduced) return `${runs}${tags} · all points`;
  if (answer.thinned) return `${runs}${tags} · reduced in this copy`;
  const drawn = answer.lines.reduce((sum, line) => sum + line.y.length, 0);
  return `${runs}${tags} · ${formatCount(drawn)} of ${formatCount(answer.points)} shown`;
}

function captionDetailsOf({ reduced, thinned, points }: ChartRow): string {
  if (!reduced) return 'Every point is drawn';
  const behind = `${formatPlural(points, 'point', formatInteger)} behind this chart`;
  return thinned
    ? `${behind}; those that no screen would show were left out of this copy`
    : `${behind}, all of them reached by zooming`;
}

function xFormatOf(axis: XAxis): AxisFormat {
  if (axis === 'wall') return 'time';
  if (axis === 'relative') return 'duration';
  return axis.startsWith('metric:') ? 'number' : 'step';
}

/** What a chart is pointed at with. */
export interface PointerTarget {
  /** Which of the cards on the page; one may stand there twice. */
  readonly key: string;
  readonly chart: ScalarChartModel;
  /** Where a place on the axis is on the screen. */
  readonly locate: (x: number) => { readonly left: number; readonly top: number };
  readonly x: number;
  /** null where an arrow key moved the cursor. */
  readonly y: number | null;
  readonly nearest: string | null;
}

/** How long the pointer rests before exact values are fetched. */
const HOVER_DELAY_MS = 90;

/** The chart under the pointer, and the one that was clicked. */
export class PointerState {
  hover = $state.raw<PointerTarget | null>(null);
  pinned = $state.raw<PointerTarget | null>(null);
  /** The card that keys are for. */
  activeChart = $state.raw<{ key: string; chart: ScalarChartModel } | null>(null);
}

/** Follow the points as they were logged of the lines at the pointer. */
export function queryExactPoints(
  { context }: ScalarGridState,
  getView: () => ChartsView,
  getTarget: () => PointerTarget | null,
): Query<readonly NearestPointRow[]> {
  return context.query(
    hoverQuery,
    () => {
      const [view, target] = [getView(), getTarget()];
      if (!target || view.groups !== null) return null;
      const { runs, x, smoothing, baseline } = view;
      return { runs, x, smoothing, baseline, tags: target.chart.card.tags, at: target.x };
    },
    { debounceMs: HOVER_DELAY_MS, keepPrevious: false },
  );
}

/** A wall of cards of curves: all that the parts of such a view share. */
export abstract class ScalarGridState<C extends ScalarCard = ScalarCard> extends CardGridState<C> {
  readonly settings: ScalarSettings;
  /** Where points come from. */
  readonly api: DashboardApi;
  readonly pointer = new PointerState();
  /** The captures of a profiler; null until effects are started. */
  #captures = $state.raw<Query<readonly CaptureRow[]> | null>(null);
  /** Dumps and recordings of the debugger; null until effects are started. */
  #debuggerSources = $state.raw<Query<readonly DebugSourceRow[]> | null>(null);
  /** Why something that was asked for beside the cards did not come. */
  exportError = $state.raw<Problem | null>(null);

  readonly viewRequest = $derived.by(() => createViewRequest(this.settings, this.context.runs));

  readonly #seriesView = $derived.by(() => {
    const { runs, x, smoothing, baseline } = this.viewRequest;
    return { runs, x, smoothing, baseline };
  });
  readonly #pinnedView = $derived.by(() => {
    const { pinned, range } = this.context.cursor;
    return pinned === null || range ? null : { ...this.#seriesView, at: pinned };
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
    about: CardGridInfo,
    api: DashboardApi = context.api,
    settings: ScalarSettings = createScalarSettings(context, about.name),
  ) {
    super(context, about);
    this.settings = settings;
    this.api = api;
    // Values of another position would be wrong, so they are not kept.
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
