import type {
  BandCenter,
  BandSpread,
  BaselineMode,
  Smoothing,
  SmoothingKind,
} from '../api/schemas';
import * as common from '../catalog/common';
import * as m from '../catalog/scalars';
import {
  cardSetCodec,
  createCardGridSettings,
  NO_CARDS,
  type PerCard,
  makePerCardCodec,
} from '../cards/card-grid.svelte';
import type { AxisLimits, ChartViewport, NumberRange } from '../charts/types';
import { sortOrderCodec } from '../components/data-table';
import { choice, type Codec, flag, list, number, optionalNumber } from '../lib/codecs';
import type { Context, Param, Preferences, Runs, UrlState, XAxis } from '../plugin/context';

const AXIS_LABELS: Readonly<Record<string, string>> = {
  step: common.step,
  relative: common.axisRelative,
  wall: common.axisWallTime,
  relative_step: common.axisRelativeStep,
  index: common.axisSampleIndex,
};

export function getAxisLabel(axis: XAxis): string {
  return AXIS_LABELS[axis] ?? axis.replace(/^metric:/, '');
}

const AXES: readonly XAxis[] = ['step', 'relative_step', 'relative', 'wall', 'index'];

export const xAxisCodec: Codec<XAxis> = {
  parse(text) {
    if (text.startsWith('metric:')) return text as XAxis;
    return AXES.find((axis) => axis === text) ?? 'step';
  },
  format: (axis) => axis,
};

/** Axis limits set by the user; null limits follow the data. */
export interface AxisRanges {
  readonly x: AxisLimits;
  readonly y: AxisLimits;
  readonly y2: AxisLimits;
}

export const AUTO_RANGES: AxisRanges = {
  x: { low: null, high: null },
  y: { low: null, high: null },
  y2: { low: null, high: null },
};

const parseLimit = (text: string | undefined): number | null =>
  text === undefined || text.trim() === '' || !Number.isFinite(Number(text)) ? null : Number(text);
const formatLimit = (limit: number | null): string => (limit === null ? '' : String(limit));

export const axisRangesCodec: Codec<PerCard<AxisRanges>> = makePerCardCodec(
  6,
  (texts) => {
    const [a = null, b = null, c = null, d = null, e = null, f = null] = texts.map(parseLimit);
    return { x: { low: a, high: b }, y: { low: c, high: d }, y2: { low: e, high: f } };
  },
  ({ x, y, y2 }) => [x, y, y2].flatMap(({ low, high }) => [formatLimit(low), formatLimit(high)]),
);

export const zoomsCodec: Codec<PerCard<ChartViewport>> = makePerCardCodec(
  6,
  (texts) => {
    const [x, y, y2] = [0, 2, 4].map((start) => parseRange(texts[start], texts[start + 1]));
    return x && y ? { x, y, ...(y2 ? { y2 } : {}) } : null;
  },
  ({ x, y, y2 }) => [...[...x, ...y].map(formatShort), ...(y2?.map(formatShort) ?? ['', ''])],
);

function parseRange(low: string | undefined, high: string | undefined): NumberRange | null {
  const [from, to] = [parseLimit(low), parseLimit(high)];
  return from === null || to === null ? null : [from, to];
}

/** Keeps links short: no chart shows more digits. */
const formatShort = (limit: number): string => String(Number(limit.toPrecision(12)));

/** How a card shows its data. */
export type CardDisplay = 'chart' | 'table' | 'bars';

export const displaysCodec: Codec<PerCard<CardDisplay>> = makePerCardCodec(
  1,
  ([display]) => (display === 'table' || display === 'bars' ? display : null),
  (display) => [display],
);

export interface SmootherSpec {
  readonly label: string;
  /** Unit and range of the amount. */
  readonly amountLabel: string;
  /** No smoothing. */
  readonly min: number;
  readonly max: number;
  readonly defaultAmount: number;
  /** End of the slider; larger amounts can be typed. */
  readonly sliderMax: number;
  readonly step: number;
}

export const SMOOTHERS: Readonly<Record<SmoothingKind, SmootherSpec>> = {
  ema: {
    label: m.smoothingEma,
    amountLabel: m.smoothingEmaAmount,
    min: 0,
    max: 0.999,
    defaultAmount: 0.6,
    sliderMax: 0.999,
    step: 0.001,
  },
  time_ema: {
    label: m.smoothingTimeEma,
    amountLabel: m.smoothingTimeEmaAmount,
    min: 0,
    max: 1e9,
    defaultAmount: 50,
    sliderMax: 1000,
    step: 1,
  },
  mean: {
    label: m.smoothingMean,
    amountLabel: m.smoothingWindow,
    min: 1,
    max: 100_000,
    defaultAmount: 21,
    sliderMax: 501,
    step: 2,
  },
  median: {
    label: m.smoothingMedian,
    amountLabel: m.smoothingWindow,
    min: 1,
    max: 10_000,
    defaultAmount: 21,
    sliderMax: 501,
    step: 2,
  },
  gaussian: {
    label: m.smoothingGaussian,
    amountLabel: m.smoothingSigma,
    min: 0,
    max: 1000,
    defaultAmount: 5,
    sliderMax: 200,
    step: 0.5,
  },
};

/** Method and amount of smoothing. Changing the method resets the amount, which has another unit. */
export class SmoothingParam {
  readonly #kind: Param<SmoothingKind>;
  readonly #amount: Param<number | null>;

  constructor(url: UrlState) {
    const kinds = Object.keys(SMOOTHERS) as SmoothingKind[];
    this.#kind = url.param('smoothing-method', choice(kinds, 'ema'), 'ema');
    this.#amount = url.param('smoothing', optionalNumber, null);
  }

  get kind(): SmoothingKind {
    return this.#kind.value;
  }

  get spec(): SmootherSpec {
    return SMOOTHERS[this.kind];
  }

  get amount(): number {
    const { min, max, defaultAmount } = this.spec;
    return Math.min(max, Math.max(min, this.#amount.value ?? defaultAmount));
  }

  /** null: no smoothing. */
  get value(): Smoothing | null {
    const { kind, amount } = this;
    return amount <= this.spec.min ? null : { kind, amount };
  }

  setAmount(amount: number): void {
    this.#amount.set(amount === this.spec.defaultAmount ? null : amount);
  }

  setKind(kind: SmoothingKind): void {
    this.#kind.set(kind);
    this.#amount.set(null);
  }
}

const minRunsCodec: Codec<number> = {
  parse: (text) => Math.max(1, Math.round(Number(text)) || 1),
  format: String,
};

/** A line per run, a band per group of runs, or lines relative to the baseline. */
export type LineMode = 'lines' | 'bands' | 'baseline';
export type BarStatistic = 'last' | 'min' | 'max';
export type ExtremeMarkers = 'none' | 'min' | 'max' | 'both';
export type RowOrder = 'name' | 'ascending' | 'descending' | 'nearest';

const DEFAULT_CARD_WIDTH_PX = 340;
/** Height of the table below a chart. */
export const VALUE_TABLE_PX = 148;

export type ScalarSettings = ReturnType<typeof createScalarSettings>;

/** Settings of the view are in the URL; those of the tooltip are preferences of the browser. */
export function createScalarSettings({ url, preferences }: Context, name: string) {
  return {
    ...createCardGridSettings({ url, preferences }, name, DEFAULT_CARD_WIDTH_PX),
    smoothing: new SmoothingParam(url),
    ...createAxisParams(url),
    ...createLineParams(url),
    ...createCardParams(url),
    ...createTableParams(url),
    ...createTooltipPreferences(preferences),
  };
}

function createAxisParams(url: UrlState) {
  return {
    x: url.param('x', xAxisCodec, 'step'),
    /** Cards with a logarithmic axis. */
    logX: url.param('log-x', cardSetCodec, NO_CARDS),
    logY: url.param('log-y', cardSetCodec, NO_CARDS),
    ignoreOutliers: url.param('outliers', flag, true),
    axisRanges: url.param('axis-range', axisRangesCodec, new Map()),
    zooms: url.param('zoom', zoomsCodec, new Map()),
  };
}

function createLineParams(url: UrlState) {
  return {
    mode: enumParam<LineMode>(url, 'mode', ['lines', 'bands', 'baseline']),
    center: enumParam<BandCenter>(url, 'center', ['mean', 'median']),
    spread: enumParam<BandSpread>(url, 'band', ['std', 'stderr', 'ci95', 'minmax', 'quantiles']),
    /** A band is drawn where at least this many runs have values. */
    minRuns: url.param('min-runs', minRunsCodec, 1),
    comparison: enumParam<BaselineMode>(url, 'baseline-mode', ['difference', 'ratio']),
    /** Also draw points that were overwritten after a restart. */
    overwritten: url.param('overwritten', flag, false),
    extremeMarkers: enumParam<ExtremeMarkers>(url, 'extremes', ['none', 'min', 'max', 'both']),
  };
}

function createCardParams(url: UrlState) {
  return {
    displays: url.param('display', displaysCodec, new Map()),
    barStatistic: enumParam<BarStatistic>(url, 'bar-value', ['last', 'min', 'max']),
  };
}

function createTableParams(url: UrlState) {
  return {
    /** Show a table of values below each chart. */
    showTables: url.param('table', flag, false),
    tableSort: url.param('table-sort', sortOrderCodec, { key: '', descending: false }),
    /** Dragging in a chart selects a range instead of zooming. */
    dragSelectsRange: url.param('select-range', flag, false),
  };
}

function createTooltipPreferences(preferences: Preferences) {
  return {
    rowOrder: enumParam<RowOrder>(preferences, 'scalars-tooltip-order', [
      'nearest',
      'name',
      'ascending',
      'descending',
    ]),
    /** Name lines below charts or at their ends. */
    showLegend: preferences.param('scalars-legend', flag, true),
    rowLimit: preferences.param('scalars-tooltip-rows', number(8), 8),
    /** Optional columns of the tooltip. */
    columns: preferences.param('scalars-tooltip-columns', list, []),
  };
}

/** Return a parameter with a few possible values; the first is the default. */
function enumParam<Value extends string>(
  store: UrlState | Preferences,
  name: string,
  values: readonly [Value, ...Value[]],
) {
  return store.param(name, choice(values, values[0]), values[0]);
}

export const SPREAD_LABELS: Readonly<Record<BandSpread, string>> = {
  std: m.spreadStd,
  stderr: m.spreadStderr,
  ci95: m.spreadCi95,
  minmax: m.spreadMinmax,
  quantiles: m.spreadQuantiles,
};

export function getBandLabel(center: BandCenter, spread: BandSpread): string {
  const label = { spread: SPREAD_LABELS[spread] };
  return center === 'mean' && spread !== 'quantiles'
    ? m.modeMeanBand(label)
    : m.modeMedianBand(label);
}

/**
 * Set the mode. A comparison without a baseline starts with the first visible run to which most lines
 * of `charts` can be compared: many runs have only a profile, a graph or tags that others lack.
 *
 * @param charts The runs in each chart on screen.
 */
export function setLineMode(
  mode: LineMode,
  settings: Pick<ScalarSettings, 'mode'>,
  runs: Pick<Runs, 'visible' | 'baseline' | 'setBaseline'>,
  charts: readonly ReadonlySet<string>[],
): void {
  if (mode === 'baseline' && runs.baseline === null) {
    const counts = runs.visible.map(({ name }) =>
      charts.reduce((count, chart) => count + (chart.has(name) ? chart.size : 0), 0),
    );
    const best = runs.visible[counts.indexOf(Math.max(...counts))];
    if (best) runs.setBaseline(best.name);
  }
  settings.mode.set(mode, 'push');
}
