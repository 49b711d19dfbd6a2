/** State of the Histograms and Distributions dashboards and of their cards. */
import { createContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import type {
  HistogramAxis,
  HistogramChartRow,
  HistogramSeriesRow,
  Problem,
  TableFormat,
} from '../../api/schemas';
import {
  createCardGridSettings,
  type PerCard,
  makePerCardCodec,
  type TagGridInfo,
  TagGridState,
  toggleItem,
  withCardValue,
} from '../../cards/card-grid.svelte';
import type { TagCard } from '../../cards/card-sections';
import {
  downloadBlob,
  type ImageExporter,
  listImageExportItems,
  type LogRoot,
  openLogLines,
  quotePython,
  toFileName,
} from '../../cards/export';
import * as common from '../../catalog/common';
import * as m from '../../catalog/histograms';
import {
  type HistogramMode,
  type HistogramPoint,
  type HistogramViewOptions,
  type HistogramViewport,
  isPercentileMode,
} from '../../charts/histogram/histogram-model';
import type { Point } from '../../charts/renderer/renderer';
import type { AxisFormat, NumberRange } from '../../charts/types';
import type { MenuItem } from '../../components/MenuItems.svelte';
import type { SelectOption } from '../../components/options';
import { choice, type Codec, flag, list, number } from '../../lib/codecs';
import type { Context, Shortcut } from '../../plugin/context';
import {
  formatCaption,
  formatCaptionDetails,
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

export type HistogramStyle = 'offset' | 'overlay' | 'heat';
/** One chart per run, or all runs in one chart. */
export type DistributionLayout = 'bands' | 'together';

export const DEFAULT_CARD_WIDTH_PX = 340;
/** TensorBoard uses 30. Exports contain 120, from which the others are merged. */
export const BIN_COUNTS = [30, 60, 120] as const;

export type HistogramSettings = ReturnType<typeof createHistogramSettings>;

/** Create the settings. Both dashboards share them, so that switching keeps the view. */
export function createHistogramSettings({ url, preferences }: Context) {
  return {
    ...createCardGridSettings({ url, preferences }, 'histograms', DEFAULT_CARD_WIDTH_PX),
    x: url.param<HistogramAxis>('x', choice(['step', 'relative', 'wall'], 'step'), 'step'),
    style: url.param<HistogramStyle>(
      'histogram-mode',
      choice(['offset', 'overlay', 'heat'], 'offset'),
      'offset',
    ),
    layout: url.param<DistributionLayout>(
      'distribution-mode',
      choice(['bands', 'together'], 'bands'),
      'bands',
    ),
    /** Counts on a logarithmic scale. */
    logCounts: url.param('log-counts', flag, false),
    /** Values of the Distributions dashboard on a logarithmic scale. */
    logValues: url.param('log-values', flag, false),
    bins: url.param('bins', binCountCodec, 60),
    ignoreOutliers: url.param('outliers', flag, true),
    zooms: url.param('histogram-zoom', viewportsCodec, new Map()),
    /** Number of runs before the first that a card shows. */
    skips: url.param('first-run', skippedRunsCodec, new Map()),
    /** Cards that are shown as a table. */
    tables: url.param('histogram-table', list, []),
  };
}

const binCountCodec: Codec<number> = {
  parse: (text) => BIN_COUNTS.find((count) => String(count) === text) ?? 60,
  format: String,
};

const skippedRunsCodec: Codec<PerCard<number>> = makePerCardCodec(
  1,
  ([text = '']) => Math.max(0, Math.round(number(0).parse(text))) || null,
  (skip) => [String(skip)],
);

export const viewportsCodec: Codec<PerCard<HistogramViewport>> = makePerCardCodec(
  4,
  (texts) => {
    const [steps, values] = [0, 2].map((first) => parseRange(texts[first], texts[first + 1]));
    return steps || values ? { steps: steps ?? null, values: values ?? null } : null;
  },
  ({ steps, values }) => [...formatRange(steps), ...formatRange(values)],
);

function parseRange(low = '', high = ''): NumberRange | null {
  const [from, to] = [low, high].map((text) => (text.trim() === '' ? NaN : Number(text)));
  if (from === undefined || to === undefined || !(from < to)) return null;
  return Number.isFinite(from) && Number.isFinite(to) ? [from, to] : null;
}

/** Format a range with as many digits as any chart can show. */
function formatRange(range: NumberRange | null): readonly string[] {
  return range ? range.map((end) => String(Number(end.toPrecision(12)))) : ['', ''];
}

export const STYLE_OPTIONS: readonly SelectOption<HistogramStyle>[] = [
  { value: 'offset', label: m.modeOffset },
  { value: 'overlay', label: m.modeOverlay },
  { value: 'heat', label: m.modeHeatMap },
];

export const LAYOUT_OPTIONS: readonly SelectOption<DistributionLayout>[] = [
  { value: 'bands', label: common.sideBySide },
  { value: 'together', label: m.distributionsLayoutOverlaid },
];

export const AXIS_OPTIONS: readonly SelectOption<HistogramAxis>[] = [
  { value: 'step', label: common.step },
  { value: 'relative', label: common.axisRelative },
  { value: 'wall', label: common.axisWallTime },
];

export interface HoveredHistogram {
  /** Identifies the card; a tag can have two cards, one of them pinned. */
  readonly key: string;
  readonly chart: HistogramCardModel;
  readonly point: HistogramPoint;
  /** Position of the pointer. */
  readonly at: Point;
}

/** The histogram under the pointer, and the one that was clicked. */
export class HoverState {
  hover = $state.raw<HoveredHistogram | null>(null);
  pinned = $state.raw<HoveredHistogram | null>(null);
}

const AXIS_FORMATS: Readonly<Record<HistogramAxis, AxisFormat>> = {
  step: 'step',
  relative: 'duration',
  wall: 'time',
};

/** The data and the view of one card. Create it where effects can be created. */
export class HistogramCardModel {
  readonly #state: HistogramsState;
  card: TagCard;
  /** Size of the chart in pixels. */
  width = $state(0);
  height = $state(0);

  readonly viewport = $derived.by(() => this.#settings.zooms.value.get(this.card.id) ?? null);
  readonly skippedRuns = $derived.by(() => this.#settings.skips.value.get(this.card.id) ?? 0);
  readonly maxRuns = $derived.by(() => getMaxRuns(this.#state.mode, this.width, this.height));
  readonly query: Query<HistogramResult>;
  readonly response = $derived.by<HistogramChartRow | null>(() => this.query.data?.row ?? null);
  readonly series = $derived<readonly HistogramSeriesRow[]>(this.response?.series ?? []);
  readonly data = $derived.by(() => makeHistogramData(this.response, this.#state.context.runs));
  readonly issues = $derived(summarizeIssues(this.series));
  readonly caption = $derived.by(() =>
    this.response && this.series.length > 0 ? formatCaption(this.response, this.#isExport) : '',
  );
  readonly captionDetails = $derived.by(() =>
    this.response ? formatCaptionDetails(this.response, this.#isExport) : '',
  );
  /** Whether a static export contains only some of the histograms. */
  readonly isReducedExport = $derived.by(
    () => this.#isExport && this.series.some(({ count, x }) => count > x.length),
  );
  readonly format = $derived.by<AxisFormat>(() => AXIS_FORMATS[this.query.data?.axis ?? 'step']);
  readonly isTable = $derived.by(() => this.#settings.tables.value.includes(this.card.id));

  readonly view = $derived.by<HistogramViewOptions>(() => ({
    mode: this.#state.mode,
    format: this.format,
    log: this.#state.isLog,
    ignoreOutliers: this.#settings.ignoreOutliers.value,
    steps: this.viewport?.steps ?? null,
    values: this.viewport?.values ?? null,
  }));

  constructor(state: HistogramsState, card: TagCard) {
    this.#state = state;
    this.card = $state.raw(card);
    this.query = state.context.query(histogramQuery, () => (this.width > 0 ? this.#request : null));
  }

  get #settings() {
    return this.#state.settings;
  }

  get #isExport(): boolean {
    return this.#state.context.isStatic;
  }

  /** The zoomed range that needs another response: percentiles do not depend on the range of values. */
  get #requestedRange(): HistogramViewport {
    const { viewport } = this;
    if (viewport === null || this.#isExport) return { steps: null, values: null };
    const values = isPercentileMode(this.#state.mode) ? null : viewport.values;
    return { steps: viewport.steps, values };
  }

  get #request(): HistogramRequest {
    const { steps, values } = this.#requestedRange;
    const [start, stop] = steps ?? [null, null];
    const [low, high] = values ?? [null, null];
    const chart = { tag: this.card.tag, offset: this.skippedRuns, start, stop, low, high };
    return { view: this.#state.request, maxRuns: this.maxRuns, chart };
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

export type HistogramTab = 'histograms' | 'distributions';

const TAB_INFO: Readonly<Record<HistogramTab, TagGridInfo>> = {
  histograms: {
    name: 'histograms',
    title: m.title,
    emptyTitle: m.emptyTitle,
    emptyHint: m.emptyHint,
    plugins: ['histograms'],
    defaultWidth: DEFAULT_CARD_WIDTH_PX,
  },
  distributions: {
    name: 'distributions',
    title: m.distributionsTitle,
    emptyTitle: m.emptyTitle,
    emptyHint: m.distributionsEmptyHint,
    plugins: ['histograms'],
    defaultWidth: DEFAULT_CARD_WIDTH_PX,
  },
};

/** State shared by the components of a dashboard. */
export class HistogramsState extends TagGridState {
  readonly tab: HistogramTab;
  override readonly settings: HistogramSettings;
  readonly hover = new HoverState();
  /** Why the last export failed. */
  exportError = $state.raw<Problem | null>(null);

  readonly mode = $derived.by<HistogramMode>(() =>
    this.tab === 'histograms' ? this.settings.style.value : this.settings.layout.value,
  );
  readonly request = $derived.by<HistogramsView>(() => ({
    runs: this.requestedRuns,
    x: this.settings.x.value,
    bins: this.tab === 'histograms' ? this.settings.bins.value : 0,
    percentiles: true,
    ignore_outliers: this.settings.ignoreOutliers.value,
    max_points: MAX_STEPS[this.mode],
  }));
  readonly isLog = $derived.by(() =>
    this.tab === 'histograms' ? this.settings.logCounts.value : this.settings.logValues.value,
  );

  constructor(context: Context, tab: HistogramTab) {
    super(context, TAB_INFO[tab]);
    this.tab = tab;
    this.settings = createHistogramSettings(context);
  }

  override clearSelection(): void {
    const { cursor } = this.context;
    if (cursor.pinned !== null) cursor.pin(null);
    else super.clearSelection();
  }
}

/** Number of histograms per run that fit into a chart that is not zoomed. */
const MAX_STEPS: Readonly<Record<HistogramMode, number>> = {
  offset: 51,
  overlay: 51,
  heat: 400,
  bands: 1000,
  together: 500,
};

export const [getHistogramsState, setHistogramsState] = createContext<HistogramsState>();

type ShortcutDefinition = Omit<Shortcut, 'group'>;

/** Register the shortcuts that other card grids do not have; return a function that removes them. */
export function registerHistogramShortcuts(state: HistogramsState): () => void {
  const { settings, tab } = state;
  const { style, layout, logCounts, logValues, zooms } = settings;
  const log = tab === 'histograms' ? logCounts : logValues;
  const histogramShortcuts: ShortcutDefinition[] = [
    { keys: 'o', label: m.modeOffset, run: () => style.set('offset') },
    { keys: 'v', label: m.modeOverlay, run: () => style.set('overlay') },
    { keys: 'h', label: m.modeHeatMap, run: () => style.set('heat') },
    { keys: 'y', label: m.settingsLogCounts, run: () => log.set(!log.value) },
  ];
  const distributionShortcuts: ShortcutDefinition[] = [
    {
      keys: 'o',
      label: m.distributionsShortcutOverlay,
      run: () => layout.set(layout.value === 'bands' ? 'together' : 'bands'),
    },
    { keys: 'y', label: m.distributionsSettingsLogValues, run: () => log.set(!log.value) },
  ];
  const shortcuts: ShortcutDefinition[] = [
    ...(tab === 'histograms' ? histogramShortcuts : distributionShortcuts),
    { keys: 'z', label: common.resetAllZooms, run: () => zooms.set(new Map()) },
  ];
  const group = state.info.title;
  const removers = shortcuts.map((shortcut) =>
    state.context.shortcuts.register({ ...shortcut, group }),
  );
  return () => removers.forEach((remove) => remove());
}

interface PythonSnippetOptions {
  readonly roots: readonly LogRoot[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Return Python code that reads all buckets of the histograms of a card. */
export function makePythonSnippet({ roots, runs, tag }: PythonSnippetOptions): string {
  return [
    ...openLogLines(roots),
    `for run in [${runs.map(quotePython).join(', ')}]:`,
    `    histograms = log.histograms(run, ${quotePython(tag)}).without_overwritten()`,
    '    for step, histogram in zip(histograms.step, histograms):',
    '        print(run, step, histogram.edges_left, histogram.edges_right, histogram.counts)',
    '',
  ].join('\n');
}

/** Tables of buckets are made by the server. */
export function canExportBuckets({ context }: HistogramsState): boolean {
  return context.supports('POST histograms/table');
}

/** Download the buckets of one card, at the visible steps. */
function exportCardBuckets(
  state: HistogramsState,
  chart: HistogramCardModel,
  format: TableFormat,
): Promise<void> {
  const [start, stop] = chart.viewport?.steps ?? [null, null];
  const name = toFileName(chart.card.title);
  return exportBuckets(state, { tags: [chart.card.tag], start, stop, format }, name);
}

/** Download the buckets of all cards as one file. */
export function exportAllBuckets(state: HistogramsState, format: TableFormat): Promise<void> {
  const tags = [...new Set(state.sections.flatMap(({ cards }) => cards.map(({ tag }) => tag)))];
  return exportBuckets(state, { tags, start: null, stop: null, format }, m.exportFileName);
}

interface BucketExportOptions {
  readonly tags: readonly string[];
  readonly start: number | null;
  readonly stop: number | null;
  readonly format: TableFormat;
}

async function exportBuckets(
  state: HistogramsState,
  options: BucketExportOptions,
  name: string,
): Promise<void> {
  const { runs, x } = state.request;
  state.exportError = null;
  try {
    const file = await state.context.api.blob('table', { runs, x, ...options });
    downloadBlob(file, `${name}.${options.format}`);
  } catch (error) {
    state.exportError = toProblem(error);
    state.settings.panel.set(true);
  }
}

export function makeCardMenu(
  state: HistogramsState,
  chart: HistogramCardModel,
  getExporter: () => ImageExporter | null,
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  return [makeViewItems(state, chart), makeExportItems(state, chart, getExporter, showPython)];
}

/** Return the item that shows a card as a table. */
export function makeTableItem(
  { settings }: HistogramsState,
  { card, isTable }: HistogramCardModel,
): MenuItem {
  const { tables } = settings;
  const run = (): void => tables.set(toggleItem(tables.value, card.id));
  return { label: common.table, checked: isTable, run };
}

function makeViewItems({ settings, tab }: HistogramsState, chart: HistogramCardModel): MenuItem[] {
  const { logCounts, logValues, ignoreOutliers } = settings;
  const log = tab === 'histograms' ? logCounts : logValues;
  return [
    {
      label: tab === 'histograms' ? m.menuLogCounts : m.distributionsMenuLogValues,
      hint: 'y',
      checked: log.value,
      run: () => log.set(!log.value),
    },
    {
      label: m.menuIgnoreOutliers,
      checked: ignoreOutliers.value,
      run: () => ignoreOutliers.set(!ignoreOutliers.value),
    },
    {
      label: common.resetZoom,
      icon: 'fit',
      disabled: chart.viewport === null,
      run: () => chart.setViewport(null),
    },
  ];
}

function makeExportItems(
  state: HistogramsState,
  chart: HistogramCardModel,
  getExporter: () => ImageExporter | null,
  showPython: () => void,
): MenuItem[] {
  const table = (format: 'csv' | 'json'): MenuItem => ({
    label: format === 'csv' ? common.exportCsv : common.exportJson,
    run: () => void exportCardBuckets(state, chart, format),
  });
  return [
    ...(canExportBuckets(state) ? [table('csv'), table('json')] : []),
    ...listImageExportItems(getExporter, chart.card.title),
    { label: common.copyAsPython, run: showPython },
  ];
}
