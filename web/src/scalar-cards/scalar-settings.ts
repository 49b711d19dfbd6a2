import type { BandCenter, BandSpread, BaselineMode, Smoothing, SmoothingKind } from '../api/schemas';
import {
  cardSetCodec,
  createCardGridSettings,
  NO_CARDS,
  type PerCard,
  perCardCodec,
} from '../cards/grid-settings';
import type { AxisLimits, ChartViewport, NumberRange } from '../charts/types';
import { choice, type Codec, flag, list, number, optionalNumber, text } from '../lib/codecs';
import type { Context, Param, Preferences, Runs, UrlState, XAxis } from '../plugin/context';

export const AXIS_NAMES: Readonly<Record<string, string>> = {
  step: 'Step',
  relative: 'Relative',
  wall: 'Wall',
  relative_step: 'Relative step',
  index: 'Index of the point',
};

/** Tags that count epochs. */
export const EPOCH_TAG = /(^|[/_])epoch$/i;

export function axisName(axis: XAxis): string {
  return AXIS_NAMES[axis] ?? axis.replace(/^metric:/, '');
}

const AXES: readonly XAxis[] = ['step', 'relative_step', 'relative', 'wall', 'index'];

export const xAxisCodec: Codec<XAxis> = {
  parse(text) {
    if (text.startsWith('metric:')) return text as XAxis;
    return AXES.find((axis) => axis === text) ?? 'step';
  },
  format: (axis) => axis,
};

/** Axis ends that were typed. */
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

const readEnd = (text: string | undefined): number | null =>
  text === undefined || text.trim() === '' || !Number.isFinite(Number(text)) ? null : Number(text);
const writeEnd = (end: number | null): string => (end === null ? '' : String(end));

export const axisRangesCodec: Codec<PerCard<AxisRanges>> = perCardCodec(
  6,
  (texts) => {
    const [a = null, b = null, c = null, d = null, e = null, f = null] = texts.map(readEnd);
    return { x: { low: a, high: b }, y: { low: c, high: d }, y2: { low: e, high: f } };
  },
  ({ x, y, y2 }) => [x, y, y2].flatMap(({ low, high }) => [writeEnd(low), writeEnd(high)]),
);

export const zoomsCodec: Codec<PerCard<ChartViewport>> = perCardCodec(
  6,
  (texts) => {
    const [x, y, y2] = [0, 2, 4].map((at) => readSpan(texts[at], texts[at + 1]));
    return x && y ? { x, y, ...(y2 ? { y2 } : {}) } : null;
  },
  ({ x, y, y2 }) => [...[...x, ...y].map(writeShort), ...(y2?.map(writeShort) ?? ['', ''])],
);

function readSpan(low: string | undefined, high: string | undefined): NumberRange | null {
  const [from, to] = [readEnd(low), readEnd(high)];
  return from === null || to === null ? null : [from, to];
}

/** As a link needs it: no chart shows more digits. */
const writeShort = (end: number): string => String(Number(end.toPrecision(12)));

/** How a card shows its data. */
export type CardDisplay = 'chart' | 'table' | 'bars';

export const displaysCodec: Codec<PerCard<CardDisplay>> = perCardCodec(
  1,
  ([form]) => (form === 'table' || form === 'bars' ? form : null),
  (form) => [form],
);

export interface SmootherSpec {
  readonly label: string;
  /** What the amount counts. */
  readonly amountLabel: string;
  /** At this amount nothing is smoothed. */
  readonly min: number;
  readonly max: number;
  readonly defaultAmount: number;
  /** Where a slider ends; the box beside it takes more. */
  readonly sliderMax: number;
  readonly step: number;
}

export const SMOOTHERS: Readonly<Record<SmoothingKind, SmootherSpec>> = {
  ema: {
    label: 'TensorBoard’s average',
    amountLabel: 'weight of what was before, 0 to 0.999',
    min: 0,
    max: 0.999,
    defaultAmount: 0.6,
    sliderMax: 0.999,
    step: 0.001,
  },
  time_ema: {
    label: 'Exponential by steps',
    amountLabel: 'half-life in steps',
    min: 0,
    max: 1e9,
    defaultAmount: 50,
    sliderMax: 1000,
    step: 1,
  },
  mean: {
    label: 'Running mean',
    amountLabel: 'window in points',
    min: 1,
    max: 100_000,
    defaultAmount: 21,
    sliderMax: 501,
    step: 2,
  },
  median: {
    label: 'Running median',
    amountLabel: 'window in points',
    min: 1,
    max: 10_000,
    defaultAmount: 21,
    sliderMax: 501,
    step: 2,
  },
  gaussian: {
    label: 'Gaussian',
    amountLabel: 'sigma in points',
    min: 0,
    max: 1000,
    defaultAmount: 5,
    sliderMax: 200,
    step: 0.5,
  },
};

/** How lines are smoothed. An amount means nothing to another smoother, so it goes with its own. */
export class SmoothingParam {
  readonly #kind: Param<SmoothingKind>;
  readonly #amount: Param<number | null>;

  constructor(address: UrlState) {
    const kinds = Object.keys(SMOOTHERS) as SmoothingKind[];
    this.#kind = address.param('smoother', choice(kinds, 'ema'), 'ema');
    this.#amount = address.param('smooth', optionalNumber, null);
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

  /** null where lines are shown as they are. */
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

/** Each run by itself, groups of runs as bands, or all beside one run. */
export type LineMode = 'lines' | 'bands' | 'baseline';
export type BarStatistic = 'last' | 'min' | 'max';
export type ExtremeMarkers = 'none' | 'min' | 'max' | 'both';
export type RowOrder = 'name' | 'ascending' | 'descending' | 'nearest';

/** How wide a card is, in pixels, until somebody says otherwise. */
const DEFAULT_CARD_WIDTH_PX = 340;

export type ScalarSettings = ReturnType<typeof createScalarSettings>;

/** What the view is set to. All of it is in the address, but for what is a matter of taste. */
export function createScalarSettings({ url, preferences }: Context, name: string) {
  return {
    ...createCardGridSettings({ url, preferences }, name, DEFAULT_CARD_WIDTH_PX),
    smoothing: new SmoothingParam(url),
    ...createAxisParams(url),
    ...createLineParams(url),
    ...createCardParams(url),
    ...createTableParams(url),
    ...createPreferences(preferences),
  };
}

function createAxisParams(address: UrlState) {
  return {
    x: address.param('x', xAxisCodec, 'step'),
    /** Cards with a logarithmic axis. */
    logX: address.param('xlog', cardSetCodec, NO_CARDS),
    logY: address.param('ylog', cardSetCodec, NO_CARDS),
    ignoreOutliers: address.param('outliers', flag, true),
    axisRanges: address.param('lim', axisRangesCodec, new Map()),
    zooms: address.param('zoom', zoomsCodec, new Map()),
  };
}

function createLineParams(address: UrlState) {
  return {
    mode: enumParam<LineMode>(address, 'mode', ['lines', 'bands', 'baseline']),
    center: enumParam<BandCenter>(address, 'center', ['mean', 'median']),
    spread: enumParam<BandSpread>(address, 'band', ['std', 'stderr', 'ci95', 'minmax']),
    comparison: enumParam<BaselineMode>(address, 'diff', ['difference', 'ratio']),
    /** Whether points that later ones took the place of are drawn, too. */
    overwritten: address.param('odd', flag, false),
    extremeMarkers: enumParam<ExtremeMarkers>(address, 'best', ['none', 'min', 'max', 'both']),
  };
}

function createCardParams(address: UrlState) {
  return {
    displays: address.param('as', displaysCodec, new Map()),
    /** What bars stand for. */
    barStatistic: enumParam<BarStatistic>(address, 'stat', ['last', 'min', 'max']),
  };
}

function createTableParams(address: UrlState) {
  return {
    /** Whether there is a table of values below each chart. */
    showTables: address.param('table', flag, false),
    tableSort: address.param('tsort', text, ''),
    /** Whether a drag in a chart selects a range instead of zooming. */
    dragSelectsRange: address.param('select', flag, false),
  };
}

function createPreferences(tastes: Preferences) {
  return {
    rowOrder: enumParam<RowOrder>(tastes, 'scalars-tip-order', [
      'nearest',
      'name',
      'ascending',
      'descending',
    ]),
    rowLimit: tastes.param('scalars-tip-rows', number(8), 8),
    /** Further columns of the tooltip. */
    columns: tastes.param('scalars-tip-columns', list, []),
  };
}

/** One of a few words; the first is what is meant when nothing is said. */
function enumParam<Word extends string>(
  place: UrlState | Preferences,
  name: string,
  words: readonly [Word, ...Word[]],
) {
  return place.param(name, choice(words, words[0]), words[0]);
}

export const SPREAD_LABELS: Readonly<Record<BandSpread, string>> = {
  std: '± std',
  stderr: '± std error',
  ci95: '± 95 % CI',
  minmax: 'min – max',
};

export function bandName(center: BandCenter, spread: BandSpread): string {
  return `${center === 'mean' ? 'Mean' : 'Median'} ${SPREAD_LABELS[spread]}`;
}

/** A comparison needs something to compare with: the first run, until another is chosen. */
export function setLineMode(mode: LineMode, settings: ScalarSettings, runs: Runs): void {
  const first = runs.visible[0];
  if (mode === 'baseline' && runs.baseline === null && first) runs.setBaseline(first.name);
  settings.mode.set(mode, 'push');
}
