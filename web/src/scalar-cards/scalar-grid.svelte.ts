import { createContext } from 'svelte';

import { isAbortError } from '../api/errors';
import type { ChartRow, ChartsView } from '../api/scalar-schemas';
import type { NearestPointRow, NearestPointsResponse, Problem, TagRow } from '../api/schemas';
import { type CardGridInfo, CardGridState } from '../cards/card-grid.svelte';
import { hasCard } from '../cards/grid-settings';
import type { Annotation, AxisFormat, Band, Line, NumberRange, ScaleType } from '../charts/types';
import { formatCount, formatInteger, formatPlural } from '../lib/format';
import type { Context, DashboardApi, XAxis } from '../plugin/context';
import { bandCenterLine, countNonFinite, drawBands, drawLines, marginBands } from './chart-lines';
import { type ChartResult, ChartsQuery } from './chart-query.svelte';
import { type ChartSubscription, createViewRequest } from './chart-request';
import { captureFlags, ProfileCaptures } from './profile-captures.svelte';
import type { ScalarCard } from './scalar-card';
import { AUTO_RANGES, createScalarSettings, type ScalarSettings } from './scalar-settings';
import { ValueTableQuery } from './table-query.svelte';

const NO_LINES: readonly Line[] = [];

/** What the chart of a card draws, kept in step with the answer and the settings. */
export class ScalarChartModel {
  readonly #curves: ScalarGridState;
  /** Held here, as who points at a chart may still look at it when its card has gone. */
  card: ScalarCard;

  readonly result = $derived.by((): ChartResult | undefined =>
    this.#curves.charts.get(this.card.id, this.#seen),
  );
  readonly response = $derived(this.result?.response ?? null);
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

  /** What the loader is to get for a chart so many pixels wide. */
  subscriptionFor(width: number): ChartSubscription {
    const { id, tags } = this.card;
    return { id, tags, visibleRange: this.#seen, width };
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
    return [...this.#findNotes(axis), ...captureFlags(this.#curves.captures.rows, runs, axis)];
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

/** How long a pointer rests before exact values are asked for. */
const HOVER_DELAY_MS = 90;

/** The chart under the pointer, and the one that was clicked. */
export class PointerState {
  hover = $state.raw<PointerTarget | null>(null);
  pinned = $state.raw<PointerTarget | null>(null);
  /** The card that keys are for. */
  activeChart = $state.raw<{ key: string; chart: ScalarChartModel } | null>(null);
  /** Points as they were logged, of the lines that are pointed at. */
  exact = $state.raw<readonly NearestPointRow[]>([]);

  readonly #api: DashboardApi;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What was asked for last. */
  #place = '';
  #abort = new AbortController();

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /** Asks for the points at a place once the pointer rests there. */
  requestExact(view: ChartsView, spot: PointerTarget | null): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
    const ask = spot && view.groups === null ? nearestPointsRequest(view, spot) : null;
    const place = JSON.stringify(ask);
    // At the same place new points may have come in; what was told there holds until they are told.
    if (place !== this.#place) this.exact = [];
    this.#place = place;
    if (ask) this.#timer = setTimeout(() => void this.#ask(ask), HOVER_DELAY_MS);
  }

  async #ask(ask: NearestPointsRequest): Promise<void> {
    this.#abort = new AbortController();
    try {
      const { rows } = await this.#api.post<NearestPointsResponse>('at', ask, this.#abort.signal);
      this.exact = rows;
    } catch (error) {
      // What is drawn is shown all the same.
      if (!isAbortError(error)) this.exact = [];
    }
  }
}

type NearestPointsRequest = ReturnType<typeof nearestPointsRequest>;

function nearestPointsRequest(
  { runs, x, smoothing, baseline }: ChartsView,
  { chart, x: at }: PointerTarget,
) {
  return { runs, x, smoothing, baseline, tags: chart.card.tags, at };
}

/** A wall of cards of curves: all that the parts of such a view share. */
export abstract class ScalarGridState<C extends ScalarCard = ScalarCard> extends CardGridState<C> {
  readonly settings: ScalarSettings;
  /** Where points come from. */
  readonly api: DashboardApi;
  readonly charts: ChartsQuery;
  readonly tables: ValueTableQuery;
  readonly pointer: PointerState;
  readonly captures: ProfileCaptures;
  /** Why something that was asked for beside the cards did not come. */
  exportError = $state.raw<Problem | null>(null);

  readonly viewRequest = $derived.by(() => createViewRequest(this.settings, this.context.runs));

  constructor(
    context: Context,
    about: CardGridInfo,
    api: DashboardApi = context.api,
    settings: ScalarSettings = createScalarSettings(context, about.name),
  ) {
    super(context, about);
    this.settings = settings;
    this.api = api;
    this.charts = new ChartsQuery(api);
    this.tables = new ValueTableQuery(api);
    this.pointer = new PointerState(api);
    this.captures = new ProfileCaptures(context);
  }

  override startEffects(): void {
    super.startEffects();
    $effect(() => this.charts.setView(this.viewRequest, this.context.runs.visible.length));
    $effect(() => {
      const { pinned, range } = this.context.cursor;
      this.tables.setPosition({ view: this.viewRequest, at: pinned, range });
    });
    $effect(() => {
      if (this.context.live.isPaused) return;
      this.charts.refresh(this.revision);
      this.tables.refresh();
    });
    this.captures.startEffects();
    $effect(() => () => this.charts.stop());
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
