import { createContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import type { Problem } from '../../api/schemas';
import { type TagGridInfo, TagGridState } from '../../cards/card-grid.svelte';
import type { TagCard } from '../../cards/card-sections';
import { withCardValue } from '../../cards/grid-settings';
import {
  type HistogramMode,
  type HistogramPoint,
  type HistogramViewOptions,
  type HistogramViewport,
  isPercentileMode,
} from '../../charts/histogram/histogram-model';
import type { Point } from '../../charts/renderer/renderer';
import type { AxisFormat } from '../../charts/types';
import type { Context, Shortcut } from '../../plugin/context';
import {
  formatCardNote,
  formatFullCardNote,
  getMaxRuns,
  makeHistogramData,
  summarizeIssues,
} from './histogram-chart-data';
import {
  histogramQuery,
  type HistogramRequest,
  type HistogramResult,
  type HistogramsView,
} from './query';
import {
  DEFAULT_CARD_WIDTH_PX,
  type HistogramSettings,
  openHistogramSettings,
} from './histograms-settings';
import type { HistogramAxis, HistogramChartRow, HistogramSeriesRow } from '../../api/schemas';

/** What is pointed at with. */
export interface HoveredHistogram {
  /** Which of the cards on the page; one may stand there twice. */
  readonly key: string;
  readonly chart: HistogramCardModel;
  readonly point: HistogramPoint;
  /** Where on the screen. */
  readonly at: Point;
}

/** What the pointer is at, and what was clicked. */
export class HoverState {
  hover = $state.raw<HoveredHistogram | null>(null);
  pinned = $state.raw<HoveredHistogram | null>(null);
}

const AXIS_FORMATS: Readonly<Record<HistogramAxis, AxisFormat>> = {
  step: 'step',
  relative: 'duration',
  wall: 'time',
};

/** What the chart of a card draws, kept in step with the answer and the settings. */
export class HistogramCardModel {
  readonly #board: HistogramsState;
  card: TagCard;
  /** Of the chart, in pixels. */
  width = $state(0);
  height = $state(0);

  readonly viewport = $derived.by(() => this.#settings.zooms.value.get(this.card.id) ?? null);
  readonly skippedRuns = $derived.by(() => this.#settings.skips.value.get(this.card.id) ?? 0);
  readonly maxRuns = $derived.by(() => getMaxRuns(this.#board.mode, this.width, this.height));
  readonly query: Query<HistogramResult>;
  readonly response = $derived.by<HistogramChartRow | null>(() => this.query.data?.row ?? null);
  readonly series = $derived<readonly HistogramSeriesRow[]>(this.response?.series ?? []);
  readonly data = $derived.by(() => makeHistogramData(this.response, this.#board.context.runs));
  readonly issues = $derived(summarizeIssues(this.series));
  readonly note = $derived.by(() =>
    this.response && this.series.length > 0 ? formatCardNote(this.response, this.#isCopy) : '',
  );
  readonly fullNote = $derived.by(() =>
    this.response ? formatFullCardNote(this.response, this.#isCopy) : '',
  );
  readonly format = $derived.by<AxisFormat>(() => AXIS_FORMATS[this.query.data?.axis ?? 'step']);
  readonly isTable = $derived.by(() => this.#settings.tables.value.includes(this.card.id));

  readonly view = $derived.by<HistogramViewOptions>(() => ({
    mode: this.#board.mode,
    format: this.format,
    log: this.#board.isLog,
    ignoreOutliers: this.#settings.ignoreOutliers.value,
    steps: this.viewport?.steps ?? null,
    values: this.viewport?.values ?? null,
  }));

  constructor(board: HistogramsState, card: TagCard) {
    this.#board = board;
    this.card = $state.raw(card);
    this.query = board.context.query(histogramQuery, () => (this.width > 0 ? this.#request : null));
  }

  get #settings() {
    return this.#board.settings;
  }

  get #isCopy(): boolean {
    return this.#board.context.isStatic;
  }

  /** What other answers are needed for: bands have all values, whatever part of them is seen. */
  get #asked(): HistogramViewport | null {
    const { viewport } = this;
    if (viewport === null || this.#isCopy) return null;
    const values = isPercentileMode(this.#board.mode) ? null : viewport.values;
    return viewport.steps || values ? { steps: viewport.steps, values } : null;
  }

  get #request(): HistogramRequest {
    const { steps, values } = this.#asked ?? { steps: null, values: null };
    const [start, stop] = steps ?? [null, null];
    const [low, high] = values ?? [null, null];
    const chart = { tag: this.card.tag, skip: this.skippedRuns, start, stop, low, high };
    return { view: this.#board.request, maxRuns: this.maxRuns, chart };
  }

  setViewport(zoom: HistogramViewport | null): void {
    const { zooms } = this.#settings;
    zooms.set(withCardValue(zooms.value, this.card.id, zoom));
  }

  skipRuns(runs: number): void {
    const { skips } = this.#settings;
    skips.set(withCardValue(skips.value, this.card.id, Math.max(0, runs) || null));
  }
}

/** Which of the two tabs is open. */
export type HistogramTab = 'histograms' | 'distributions';

const TAB_INFO: Readonly<Record<HistogramTab, TagGridInfo>> = {
  histograms: {
    name: 'histograms',
    title: 'Histograms',
    noun: 'histograms',
    emptyHint: 'Weights or gradients logged at a step become a ridge here, within a second.',
    plugins: ['histograms'],
    defaultWidth: DEFAULT_CARD_WIDTH_PX,
  },
  distributions: {
    name: 'histograms',
    title: 'Distributions',
    noun: 'histograms',
    emptyHint: 'Weights or gradients logged as histograms become bands here, within a second.',
    plugins: ['histograms'],
    defaultWidth: DEFAULT_CARD_WIDTH_PX,
  },
};

/** All that the parts of the view share. */
export class HistogramsState extends TagGridState {
  readonly tab: HistogramTab;
  override readonly settings: HistogramSettings;
  readonly hover = new HoverState();
  /** Why something that was asked for beside the cards did not come. */
  exportError = $state.raw<Problem | null>(null);

  readonly mode = $derived.by<HistogramMode>(() =>
    this.tab === 'histograms' ? this.settings.look.value : this.settings.bands.value,
  );
  readonly request = $derived.by<HistogramsView>(() => ({
    runs: this.requestedRuns,
    x: this.settings.x.value,
    bins: this.tab === 'histograms' ? this.settings.bins.value : 0,
    percentiles: true,
    ignore_outliers: this.settings.ignoreOutliers.value,
    most: MAX_STEPS[this.mode],
  }));
  readonly isLog = $derived.by(() =>
    this.tab === 'histograms' ? this.settings.logCounts.value : this.settings.logValues.value,
  );

  constructor(context: Context, kind: HistogramTab) {
    super(context, TAB_INFO[kind]);
    this.tab = kind;
    this.settings = openHistogramSettings(context);
  }

  override clearSelection(): void {
    const { cursor } = this.context;
    if (cursor.pinned !== null) cursor.pin(null);
    else super.clearSelection();
  }
}

/** How many histograms of a run a chart has room for, until somebody looks at a part of it. */
const MAX_STEPS: Readonly<Record<HistogramMode, number>> = {
  offset: 51,
  overlay: 51,
  heat: 400,
  bands: 1000,
  together: 500,
};

export const [getHistogramsState, setHistogramsState] = createContext<HistogramsState>();

type ShortcutDefinition = Omit<Shortcut, 'group'>;

/** The keys that other walls do not have; returns how to take them back. */
export function registerHistogramShortcuts(board: HistogramsState): () => void {
  const { settings, tab } = board;
  const { look, bands, logCounts, logValues, zooms } = settings;
  const log = tab === 'histograms' ? logCounts : logValues;
  const ofHistograms: ShortcutDefinition[] = [
    { keys: 'o', label: 'Offset', run: () => look.set('offset') },
    { keys: 'v', label: 'Overlay', run: () => look.set('overlay') },
    { keys: 'h', label: 'Heat map', run: () => look.set('heat') },
    { keys: 'y', label: 'Logarithmic counts', run: () => log.set(!log.value) },
  ];
  const ofDistributions: ShortcutDefinition[] = [
    {
      keys: 'o',
      label: 'Runs in one chart',
      run: () => bands.set(bands.value === 'bands' ? 'together' : 'bands'),
    },
    { keys: 'y', label: 'Logarithmic values', run: () => log.set(!log.value) },
  ];
  const keys: ShortcutDefinition[] = [
    ...(tab === 'histograms' ? ofHistograms : ofDistributions),
    { keys: 'z', label: 'Fit all charts', run: () => zooms.set(new Map()) },
  ];
  const group = board.info.title;
  const stops = keys.map((key) => board.context.shortcuts.register({ ...key, group }));
  return () => stops.forEach((stop) => stop());
}
