import {
  LABEL_GAP_PX,
  LABEL_SIZE_PX,
  type Margins,
  type PlotLayout,
  type Size,
} from '../axes/plot-axes';
import { makeScale, makeTicks, type Scale, type Tick } from '../axes/ticks';
import type { Rect, Renderer } from '../renderer/renderer';
import type { AxisFormat, NumberArray, NumberRange } from '../types';

/** The percentiles that are stored for each histogram. */
export const PERCENTILES = [0, 6.68, 15.87, 30.85, 50, 69.15, 84.13, 93.32, 100] as const;
export const MEDIAN_INDEX = 4;
/** Indices of the percentiles at one standard deviation. */
export const MAIN_BAND = [2, 6] as const;

/** Histograms over steps, with common bins and nine percentiles each. */
export interface HistogramSeries {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** Position of each histogram on the step axis; sorted. */
  readonly x: Float64Array;
  /** Counts per bin, histogram by histogram. */
  readonly counts: NumberArray;
  /** Nine percentiles per histogram; NaN for empty ones. */
  readonly percentiles: Float64Array;
}

/** Several series with common bins. */
export interface HistogramData {
  readonly binEdges: Float64Array;
  readonly series: readonly HistogramSeries[];
}

/**
 * Ridges behind each other, overlaid lines, a heat map, or percentile bands: per series, or
 * together in one panel.
 */
export type HistogramMode = 'offset' | 'overlay' | 'heat' | 'bands' | 'together';

/** Visible steps and values; null shows all. */
export interface HistogramViewport {
  readonly steps: NumberRange | null;
  readonly values: NumberRange | null;
}

export interface HistogramViewOptions extends HistogramViewport {
  readonly mode: HistogramMode;
  /** Format of the step axis. */
  readonly format: AxisFormat;
  /** Logarithmic scale for counts or, with bands, for values. */
  readonly log: boolean;
  /** Exclude outliers from the value range of bands. */
  readonly ignoreOutliers: boolean;
}

/** A hovered histogram and value. */
export interface HistogramPoint {
  /** Index of the series. */
  readonly seriesIndex: number;
  /** Index of the histogram in the series. */
  readonly index: number;
  /** null if no value is hovered. */
  readonly value: number | null;
}

/** Return whether values are on the x axis. */
export function hasHorizontalValues(mode: HistogramMode): boolean {
  return mode === 'offset' || mode === 'overlay';
}

export function isPercentileMode(mode: HistogramMode): boolean {
  return mode === 'bands' || mode === 'together';
}

/** Ranges of the axes. */
export interface HistogramExtents {
  readonly steps: NumberRange;
  readonly values: NumberRange;
  readonly maxCount: number;
  /** False if there are no values for a logarithmic scale. */
  readonly isLog: boolean;
}

/** Padding above and below bands, as a fraction of their range. */
const BAND_PADDING = 0.04;
/** Tails are cut at this multiple of the distance from the median to the next band. */
const TAIL_FACTOR = 2.2;
/** A step is an outlier if it is wider than the third quartile by this factor. */
const OUTLIER_STEP_FACTOR = 2.5;
/** Outliers are shown if the full range is wider by at most this factor. */
const SHOW_ALL_FACTOR = 1.6;

export function computeExtents(
  { binEdges, series }: HistogramData,
  view: HistogramViewOptions,
): HistogramExtents {
  const steps = view.steps ?? findFiniteRange(series.map(({ x }) => x)) ?? [0, 1];
  const most = series.reduce((most, entry) => Math.max(most, findMaxCount(entry.counts)), 0);
  const log =
    view.log &&
    (!isPercentileMode(view.mode) ||
      series.some(({ percentiles }) => percentiles.some(isPositive)));
  return {
    steps,
    values: computeValueRange({ binEdges, series }, view, log, steps),
    maxCount: most,
    isLog: log,
  };
}

function computeValueRange(
  { binEdges, series }: HistogramData,
  view: HistogramViewOptions,
  log: boolean,
  steps: NumberRange,
): NumberRange {
  if (view.values && !(log && isPercentileMode(view.mode) && view.values[0] <= 0))
    return view.values;
  if (!isPercentileMode(view.mode)) return [binEdges[0] ?? 0, binEdges.at(-1) ?? 1];
  // With several series in a panel, only the main band is drawn.
  const ends = view.mode === 'together' && series.length > 1 ? MAIN_BAND : ([0, 8] as const);
  const reaches = series.flatMap((entry) => listBandRanges(slicePercentiles(entry, steps), ends));
  const shown = view.ignoreOutliers ? dropOutliers(reaches) : reaches;
  const all = shown.flatMap(({ low, high }) => [low, high]);
  const span = findFiniteRange([Float64Array.from(log ? all.filter(isPositive) : all)]);
  return span ? padRange(span, log) : [0, 1];
}

/** Range of the bands of a step, with and without long tails. */
interface BandRange {
  readonly low: number;
  readonly high: number;
  readonly near: NumberRange;
}

function listBandRanges(
  nines: Float64Array,
  [first, last]: readonly [number, number],
): BandRange[] {
  const reaches: BandRange[] = [];
  for (let at = 0; at < nines.length; at += 9) {
    const value = (number: number): number => nines[at + number] ?? NaN;
    const [low, high, middle] = [value(first), value(last), value(MEDIAN_INDEX)];
    const below = middle - TAIL_FACTOR * (middle - value(1));
    const above = middle + TAIL_FACTOR * (value(7) - middle);
    if (Number.isFinite(low) && Number.isFinite(high))
      reaches.push({ low, high, near: [Math.max(low, below), Math.min(high, above)] });
  }
  return reaches;
}

/** Return ranges without long tails and without unusually wide steps. */
function dropOutliers(reaches: readonly BandRange[]): { low: number; high: number }[] {
  const widths = reaches.map(({ near: [low, high] }) => high - low).sort((a, b) => a - b);
  const most = OUTLIER_STEP_FACTOR * (widths[Math.floor(widths.length * 0.75)] ?? 0);
  const usual = reaches.filter(({ near: [low, high] }) => high - low <= most);
  const near = usual.map(({ near: [low, high] }) => ({ low, high }));
  const [all, core] = [getTotalWidth(reaches), getTotalWidth(near)];
  return core === 0 || all <= SHOW_ALL_FACTOR * core ? [...reaches] : near;
}

function getTotalWidth(
  reaches: readonly { readonly low: number; readonly high: number }[],
): number {
  const span = findFiniteRange([
    Float64Array.from(reaches.flatMap(({ low, high }) => [low, high])),
  ]);
  return span ? span[1] - span[0] : 0;
}

/** Return the percentiles of the visible steps and one step beyond each end. */
function slicePercentiles(
  { x, percentiles }: HistogramSeries,
  [start, stop]: NumberRange,
): Float64Array {
  let first = 0;
  let end = x.length;
  while (first < end - 1 && (x[first + 1] ?? 0) < start) first++;
  while (end > first + 1 && (x[end - 2] ?? 0) > stop) end--;
  return percentiles.subarray(first * 9, end * 9);
}

function padRange([low, high]: NumberRange, log: boolean): NumberRange {
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  const margin = low === high ? Math.abs(low) / 10 || 0.5 : (high - low) * BAND_PADDING;
  return [low - margin, high + margin];
}

const isPositive = (value: number): boolean => value > 0 && value < Infinity;

/** Return the range of the finite values of several columns. */
export function findFiniteRange(columns: readonly Float64Array[]): NumberRange | null {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns)
    for (const value of column) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return low <= high ? [low, high] : null;
}

function findMaxCount(rows: ArrayLike<number>): number {
  let most = 0;
  for (let at = 0; at < rows.length; at++) {
    const count = rows[at] ?? 0;
    if (count > most && count < Infinity) most = count;
  }
  return most;
}

/** Return a scale from counts to 0..1. */
export function makeCountScale(most: number, log: boolean): (count: number) => number {
  if (!(most > 0)) return () => 0;
  // log1p: counts below one are valid, they result from splitting buckets over bins.
  const full = Math.log1p(most);
  return log
    ? (count) => (count > 0 ? Math.log1p(count) / full : 0)
    : (count) => (count > 0 ? count / most : 0);
}

/** A small multiple: all panels have the same axes. */
export interface Panel {
  /** Indices of its series. */
  readonly seriesIndexes: readonly number[];
  readonly layout: PlotLayout;
  /** Rectangle of the title; null for a single panel. */
  readonly title: Rect | null;
}

export interface PanelLayout {
  readonly extents: HistogramExtents;
  readonly panels: readonly Panel[];
}

const NO_MARGINS: Margins = { top: 0, right: 0, bottom: 0, left: 0 };
const TOP = 6;
const BOTTOM = 20;
const GAP = 10;
const TITLE_HEIGHT = 15;
const MIN_LEFT = 34;
const MIN_RIGHT = 10;
/** Height of the tallest ridge as a fraction of its panel. */
export const RIDGE_HEIGHT_RATIO = 0.42;
/** Preferred aspect ratio of panels. */
const PANEL_ASPECT_RATIO = 1.7;
const LABEL_SPACING_PX = 22;
const TICK_SPACING_PX = 40;

type MeasureText = Renderer['measureText'];

export function layoutPanels(
  content: HistogramData,
  view: HistogramViewOptions,
  size: Size,
  measure: MeasureText,
  margins = NO_MARGINS,
): PanelLayout {
  const extents = computeExtents(content, view);
  const groups = groupSeries(content, view);
  const area = computePanelArea(extents, view, size, measure, margins);
  const [columns, rows] = choosePanelGrid(groups.length, area.width, area.height);
  const named = groups.length > 1;
  const width = (area.width - GAP * (columns - 1)) / columns;
  const height = (area.height + MIN_RIGHT) / rows;
  const panels = groups.map((entries, number): Panel => {
    const [column, row] = [number % columns, Math.floor(number / columns)];
    const left = area.left + column * (width + GAP);
    const top = area.top + row * height;
    const head = named ? TITLE_HEIGHT : 0;
    const frame = { left, top: top + head, width, height: Math.max(1, height - head - MIN_RIGHT) };
    const isLow = number + columns >= groups.length;
    const labels = { bottom: isLow, left: column === 0, right: column === columns - 1 };
    const layout = layoutPanel(frame, extents, view, size, measure, labels);
    return {
      seriesIndexes: entries,
      layout,
      title: named ? { left, top, width, height: TITLE_HEIGHT } : null,
    };
  });
  return { extents, panels };
}

function groupSeries({ series }: HistogramData, { mode }: HistogramViewOptions): number[][] {
  const all = series.map((_, number) => number);
  return mode === 'together' || all.length === 0 ? [all] : all.map((number) => [number]);
}

/** Return the area of the panels without the labels. */
function computePanelArea(
  extents: HistogramExtents,
  view: HistogramViewOptions,
  size: Size,
  measure: MeasureText,
  { top, right, bottom, left }: Margins,
): Rect {
  const high = size.height - top - bottom;
  const steps =
    view.mode === 'offset'
      ? findMaxLabelWidth(makeStepTicks(extents, view.format, high), measure)
      : 0;
  const values = hasHorizontalValues(view.mode) ? [] : makeValueTicks(extents, view, high);
  const side =
    view.mode === 'offset'
      ? MIN_RIGHT
      : Math.max(
          MIN_LEFT,
          findMaxLabelWidth(
            view.mode === 'overlay' ? makeCountTicks(extents, high) : values,
            measure,
          ) +
            2 * LABEL_GAP_PX,
        );
  const far = view.mode === 'offset' ? steps + 2 * LABEL_GAP_PX : MIN_RIGHT;
  return {
    left: left + side,
    top: top + TOP,
    width: Math.max(1, size.width - left - right - side - far),
    height: Math.max(1, high - TOP - BOTTOM),
  };
}

/** Return the columns and rows that give panels the best aspect ratio. */
export function choosePanelGrid(
  count: number,
  width: number,
  height: number,
): readonly [number, number] {
  let best: readonly [number, number] = [1, Math.max(1, count)];
  let least = Infinity;
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const shape = width / columns / (height / rows);
    const unused = columns * rows - count;
    const badness = Math.abs(Math.log(shape / PANEL_ASPECT_RATIO)) + 0.15 * unused;
    if (badness < least) [best, least] = [[columns, rows], badness];
  }
  return best;
}

interface PanelLabels {
  readonly bottom: boolean;
  readonly left: boolean;
  readonly right: boolean;
}

function layoutPanel(
  frame: Rect,
  extents: HistogramExtents,
  view: HistogramViewOptions,
  size: Size,
  measure: MeasureText,
  { bottom, left, right }: PanelLabels,
): PlotLayout {
  const across: NumberRange = [frame.left, frame.left + frame.width];
  const up: NumberRange = [frame.top + frame.height, frame.top];
  const base = { size, plotArea: frame, format: view.format };
  const blank = (ticks: readonly Tick[], seen: boolean): Tick[] =>
    seen ? [...ticks] : ticks.map(({ value }) => ({ value, label: '' }));
  const fitted = (kind: 'linear' | 'log', format: AxisFormat, domain: NumberRange): Tick[] =>
    blank(fitTicks(kind, format, domain, frame.width, measure), bottom);
  if (view.mode === 'offset') {
    const scale = makeRidgeScale(extents.steps, frame);
    const x = {
      scale: makeScale('linear', extents.values, across),
      ticks: fitted('linear', 'number', extents.values),
    };
    const ticks = blank(makeStepTicks(extents, view.format, frame.height), right);
    return { ...base, x, y: { scale, ticks: [] }, y2: { scale, ticks } };
  }
  if (view.mode === 'overlay') {
    const x = {
      scale: makeScale('linear', extents.values, across),
      ticks: fitted('linear', 'number', extents.values),
    };
    const y = {
      scale: makeScale('linear', getCountRange(extents), up),
      ticks: blank(makeCountTicks(extents, frame.height), left),
    };
    return { ...base, x, y, y2: null };
  }
  const kind = extents.isLog && view.mode !== 'heat' ? 'log' : 'linear';
  const x = {
    scale: makeScale('linear', widenStepRange(extents.steps), across),
    ticks: fitted('linear', view.format, widenStepRange(extents.steps)),
  };
  const y = {
    scale: makeScale(kind, extents.values, up),
    ticks: blank(makeValueTicks(extents, view, frame.height), left),
  };
  return { ...base, x, y, y2: null };
}

/** Return the scale of ridge baselines: the oldest at the top, the newest at the bottom. */
function makeRidgeScale(steps: NumberRange, { top, height }: Rect): Scale {
  const bottom = top + height;
  return makeScale(
    'linear',
    steps,
    steps[0] === steps[1] ? [bottom, bottom] : [top + height * RIDGE_HEIGHT_RATIO, bottom],
  );
}

/** Widen the range of a single step. */
function widenStepRange([low, high]: NumberRange): NumberRange {
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** Return the domain of the count axis; on a log axis, of logarithms. */
function getCountRange({ maxCount, isLog }: HistogramExtents): NumberRange {
  return [0, isLog ? Math.log1p(maxCount || 1) : (maxCount || 1) * 1.04];
}

function makeCountTicks(extents: HistogramExtents, height: number): Tick[] {
  const most = extents.maxCount || 1;
  if (!extents.isLog)
    return makeTicks('linear', 'number', getCountRange(extents), countTickRows(height));
  const ticks = makeTicks('log', 'number', [1, Math.max(10, most)], countTickRows(height));
  return [0, ...ticks.map(({ value }) => value)]
    .filter((value) => value <= most * 1.001)
    .map((value) => ({
      value: Math.log1p(value),
      label: value === 0 ? '0' : (ticks.find((tick) => tick.value === value)?.label ?? ''),
    }));
}

function makeStepTicks({ steps }: HistogramExtents, format: AxisFormat, height: number): Tick[] {
  const count = Math.max(1, Math.round((height * (1 - RIDGE_HEIGHT_RATIO)) / 26));
  return steps[0] === steps[1]
    ? makeTicks('linear', format, [steps[0] - 0.5, steps[0] + 0.5], 1)
    : makeTicks('linear', format, steps, count);
}

function makeValueTicks(
  extents: HistogramExtents,
  { mode }: HistogramViewOptions,
  height: number,
): Tick[] {
  const kind = extents.isLog && mode !== 'heat' ? 'log' : 'linear';
  return makeTicks(kind, 'number', extents.values, countTickRows(height));
}

function countTickRows(height: number): number {
  return Math.max(1, Math.round(height / TICK_SPACING_PX));
}

/** Return as many ticks as their labels allow. */
function fitTicks(
  kind: 'linear' | 'log',
  format: AxisFormat,
  domain: NumberRange,
  width: number,
  measure: MeasureText,
): Tick[] {
  for (let count = Math.max(4, Math.round(width / 60)); count > 1; count--) {
    const ticks = makeTicks(kind, format, domain, count);
    if (
      ticks.length * (findMaxLabelWidth(ticks, measure) + LABEL_SPACING_PX) <=
      width + LABEL_SPACING_PX
    )
      return ticks;
  }
  return makeTicks(kind, format, domain, 1);
}

function findMaxLabelWidth(ticks: readonly Tick[], measure: MeasureText): number {
  return Math.max(0, ...ticks.map(({ label }) => measure(label, { size: LABEL_SIZE_PX })));
}
