/** Positions of the values of a column along an axis from 0 to 1, and the colors of trials. */
import * as m from '../../../catalog/hparams';
import { makeTicks } from '../../../charts/axes/ticks';
import {
  computeRank,
  findDistinctValues,
  formatColumnValue,
  getCategoryLabel,
  sortValues,
  type TrialColumn,
} from './trials';
import type { ChartTheme, Renderer } from '../../../charts/renderer/renderer';
import { getSequentialRamp } from '../../../lib/colors';

export type AxisScale = 'linear' | 'log' | 'quantile';

export interface ColumnAxisTick {
  /** From 0 to 1. */
  readonly position: number;
  readonly text: string;
}

/** Maps the values of a column to positions from 0 to 1. */
export interface ColumnAxis {
  readonly column: TrialColumn;
  readonly scale: AxisScale;
  /** NaN if the value is not finite. */
  toPosition(value: number): number;
  toValue(position: number): number;
  readonly ticks: readonly ColumnAxisTick[];
  /** Whether trials have only a few positions, with a tick each. */
  readonly isDiscrete: boolean;
}

/** Hyperparameters with at most this many values have a tick for each. */
const MAX_DISCRETE_VALUES = 9;
const MAX_DISCRETE_CATEGORIES = 40;
const TICK_COUNT = 6;
/** The default scale is logarithmic if max / min is at least this, … */
const MIN_LOG_RATIO = 10;
/** … and the median is in this first part of a linear axis. */
const MAX_LOG_MEDIAN_POSITION = 0.2;

export function listScales(column: TrialColumn): readonly AxisScale[] {
  if (column.categories) return ['linear'];
  const { low } = computeExtent(column);
  return low > 0 ? ['linear', 'log', 'quantile'] : ['linear', 'quantile'];
}

/** Hyperparameters over several orders of magnitude have a logarithmic scale. */
export function getDefaultScale(column: TrialColumn): AxisScale {
  if (column.categories || column.kind !== 'hparam') return 'linear';
  const { low, high } = computeExtent(column);
  if (!(low > 0) || high / low < MIN_LOG_RATIO) return 'linear';
  return isMedianBelow(column, low + MAX_LOG_MEDIAN_POSITION * (high - low)) ? 'log' : 'linear';
}

/** Compare the median with a limit, without sorting the values. */
function isMedianBelow({ values }: TrialColumn, limit: number): boolean {
  let [below, finite] = [0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    finite++;
    if (value < limit) below++;
  }
  return below > finite >> 1;
}

/** Return the axis of a column; linear if the column does not support the scale. */
export function makeAxis(column: TrialColumn, preferred: AxisScale, inverted = false): ColumnAxis {
  const scale = listScales(column).includes(preferred) ? preferred : 'linear';
  const axis = column.categories
    ? makeCategoryAxis(column, column.categories)
    : makeNumberAxis(column, scale);
  if (!inverted) return axis;
  return {
    ...axis,
    toPosition: (value) => 1 - axis.toPosition(value),
    toValue: (position) => axis.toValue(1 - position),
    ticks: axis.ticks.map(({ position, text }) => ({ position: 1 - position, text })),
  };
}

/** Return the position of each trial. */
export function computePositions({ column, toPosition }: ColumnAxis): Float32Array {
  const { values } = column;
  // A loop, as `Float32Array.from` takes ten times as long.
  const positions = new Float32Array(values.length);
  for (let row = 0; row < values.length; row++) positions[row] = toPosition(values[row] ?? NaN);
  return positions;
}

function computeExtent({ values, range }: TrialColumn): { low: number; high: number } {
  let [low, high] = range ?? [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high };
}

/** Categories are equally spaced, with half of the spacing at both ends. */
function makeCategoryAxis(column: TrialColumn, categories: readonly string[]): ColumnAxis {
  const { length } = categories;
  const toPosition = (index: number): number => (index + 0.5) / length;
  return {
    column,
    scale: 'linear',
    toPosition,
    toValue: (position) => position * length - 0.5,
    ticks: categories.map((_, index) => ({
      position: toPosition(index),
      text: getCategoryLabel(column, index),
    })),
    isDiscrete: length <= MAX_DISCRETE_CATEGORIES,
  };
}

function makeNumberAxis(column: TrialColumn, scale: AxisScale): ColumnAxis {
  const mapping = scale === 'quantile' ? mapByRank(column) : mapByValue(column, scale === 'log');
  const values = makeTickValues(column, scale, mapping.toValue);
  const ticks = values.map((value) => ({
    position: mapping.toPosition(value),
    text: formatColumnValue(column, value),
  }));
  return { column, scale, ...mapping, ticks, isDiscrete: findDiscreteValues(column) !== null };
}

type AxisMapping = Pick<ColumnAxis, 'toPosition' | 'toValue'>;

function mapByValue(column: TrialColumn, isLog: boolean): AxisMapping {
  const transform = isLog ? Math.log : (value: number): number => value;
  const invert = isLog ? Math.exp : (value: number): number => value;
  const extent = computeExtent(column);
  const low = transform(extent.low);
  const span = transform(extent.high) - low;
  return {
    toPosition: (value) => {
      if (!Number.isFinite(value)) return NaN;
      return span > 0 ? (transform(value) - low) / span : 0.5;
    },
    toValue: (position) => {
      // Exact at both ends, where exp(log(x)) is not.
      if (position <= 0 || !(span > 0)) return extent.low;
      return position >= 1 ? extent.high : invert(low + position * span);
    },
  };
}

/** Equal values have the mean of their ranks. */
function mapByRank(column: TrialColumn): AxisMapping {
  const sorted = sortValues(column);
  const last = sorted.length - 1;
  return {
    toPosition: (value) => {
      if (!Number.isFinite(value)) return NaN;
      return last < 1 ? 0.5 : Math.min(1, Math.max(0, computeRank(sorted, value)));
    },
    toValue: (position) => {
      const rank = Math.min(last, Math.max(0, position * last));
      const [from, to] = [sorted[Math.floor(rank)] ?? NaN, sorted[Math.ceil(rank)] ?? NaN];
      return from + (to - from) * (rank - Math.floor(rank));
    },
  };
}

/** Only of hyperparameters: that a metric has few values is a coincidence. */
function findDiscreteValues(column: TrialColumn): readonly number[] | null {
  return column.kind === 'hparam' ? findDistinctValues(column, MAX_DISCRETE_VALUES) : null;
}

function makeTickValues(
  column: TrialColumn,
  scale: AxisScale,
  toValue: (position: number) => number,
): readonly number[] {
  const discrete = findDiscreteValues(column);
  if (discrete) return discrete;
  const { low, high } = computeExtent(column);
  if (low > high) return [];
  if (scale === 'quantile') return [0, 0.25, 0.5, 0.75, 1].map(toValue);
  const format = column.format === 'value' ? 'number' : column.format;
  return makeTicks(scale, format, [low, high], TICK_COUNT).map(({ value }) => value);
}

/** An axis with padding at its ends, and the position of each trial on it. */
export interface ScatterAxis {
  readonly axis: ColumnAxis;
  readonly positions: Float32Array;
  /** The positions of numbers and categories; NaN for the few texts in a column of numbers. */
  readonly valuePositions: Float32Array;
}

/** Where the texts in a column of numbers are: below all numbers, which begin at a multiple. */
export const OTHER_POSITION = 0.06;

/** Computes the axis of a column once for all scatter plots. */
export class ScatterAxisCache {
  readonly #axes = new Map<string, ScatterAxis>();
  readonly #make: (column: TrialColumn) => ColumnAxis;

  constructor(make: (column: TrialColumn) => ColumnAxis) {
    this.#make = make;
  }

  get(column: TrialColumn): ScatterAxis {
    const cached = this.#axes.get(column.key);
    if (cached) return cached;
    const axis = withPadding(this.#make(column));
    const valuePositions = computePositions(axis);
    const { texts } = column;
    const positions = texts
      ? valuePositions.map((position, row) =>
          (texts[row] ?? null) === null ? position : OTHER_POSITION,
        )
      : valuePositions;
    const scatterAxis = { axis, positions, valuePositions };
    this.#axes.set(column.key, scatterAxis);
    return scatterAxis;
  }
}

/** Fractions of the axis at both ends. */
const AXIS_PADDING = 0.03;
const DISCRETE_AXIS_PADDING = 0.12;

/** Keep trials away from the ends of the axis. */
function withPadding(axis: ColumnAxis): ColumnAxis {
  const { categories, texts } = axis.column;
  if (categories) return axis;
  const padding = axis.isDiscrete ? DISCRETE_AXIS_PADDING / 2 : AXIS_PADDING;
  const start = texts ? 3 * OTHER_POSITION : padding;
  const length = 1 - padding - start;
  const shrink = (position: number): number => start + position * length;
  const ticks = axis.ticks.map(({ position, text }) => ({ position: shrink(position), text }));
  return {
    ...axis,
    toPosition: (value) => shrink(axis.toPosition(value)),
    toValue: (position) => axis.toValue((position - start) / length),
    ticks: texts ? [{ position: OTHER_POSITION, text: m.parallelOther }, ...ticks] : ticks,
  };
}

export interface TrialColors {
  /** For each trial the index of its color in the ramp. */
  readonly levels: Uint8Array;
  /** All trials; those with the strongest color are drawn last. */
  readonly drawOrder: Int32Array;
}

/** Finer differences are not visible, and lines of the same color are drawn together. */
export const COLOR_LEVELS = 32;

/** Color trials by a column; `inverted` makes low values strong. Trials without a value are pale. */
export function computeTrialColors(axis: ColumnAxis, inverted: boolean): TrialColors {
  const positions = computePositions(axis);
  const levels = new Uint8Array(positions.length);
  const drawOrder = new Int32Array(positions.length);
  positions.forEach((position, row) => {
    levels[row] = getColorLevel(inverted ? 1 - position : position);
    drawOrder[row] = row;
  });
  drawOrder.sort((a, b) => (levels[a] ?? 0) - (levels[b] ?? 0) || b - a);
  return { levels, drawOrder };
}

function getColorLevel(position: number): number {
  if (Number.isNaN(position)) return 0;
  return Math.round(Math.min(1, Math.max(0, position)) * (COLOR_LEVELS - 1));
}

/** The part of the sequential ramp that is visible on the background. */
const RAMP_START = 62;
const RAMP_END = 236;
const rampCache = new Map<boolean, readonly string[]>();

/** Return a color for each level, from pale to strong. */
export function getColorRamp(isDark: boolean): readonly string[] {
  const colors = rampCache.get(isDark) ?? makeColorRamp(isDark);
  rampCache.set(isDark, colors);
  return colors;
}

function makeColorRamp(isDark: boolean): string[] {
  const shades = getSequentialRamp(isDark ? '#000000' : '#ffffff');
  return Array.from({ length: COLOR_LEVELS }, (_, level) => {
    const shade = Math.round(RAMP_START + ((RAMP_END - RAMP_START) * level) / (COLOR_LEVELS - 1));
    return `rgb(${shades[4 * shade]}, ${shades[4 * shade + 1]}, ${shades[4 * shade + 2]})`;
  });
}

/** The column that trials are colored by, and its values at both ends of the ramp. */
export interface ColorLegend {
  readonly title: string;
  /** At the pale and at the strong end. */
  readonly ends: readonly [string, string];
}

export function makeColorLegend({ column, toValue }: ColumnAxis, inverted: boolean): ColorLegend {
  const format = (value: number): string => formatColumnValue(column, value);
  const [low, high] = column.categories
    ? [getCategoryLabel(column, 0), getCategoryLabel(column, column.categories.length - 1)]
    : [format(toValue(0)), format(toValue(1))];
  return { title: column.title, ends: inverted ? [high, low] : [low, high] };
}

const LEGEND_FONT_PX = 11;
const RAMP_SIZE = { width: 84, height: 8 };
const LEGEND_GAP_PX = 6;

/** Draw a legend that ends at `right`, for exported images. */
export function drawColorLegend(
  renderer: Renderer,
  { title, ends }: ColorLegend,
  { right, middle }: { readonly right: number; readonly middle: number },
  theme: ChartTheme,
): void {
  const style = { size: LEGEND_FONT_PX, align: 'right', baseline: 'middle' } as const;
  const colors = getColorRamp(false);
  let x = right;
  const write = (text: string, color: string): void => {
    renderer.text(text, x, middle, { ...style, color });
    x -= renderer.measureText(text, style) + LEGEND_GAP_PX;
  };
  write(ends[1], theme.label);
  x -= RAMP_SIZE.width;
  const width = RAMP_SIZE.width / colors.length;
  const top = middle - RAMP_SIZE.height / 2;
  colors.forEach((color, level) => {
    // Overlaps the next color, so that there are no gaps.
    const box = { left: x + level * width, top, width: width + 0.5, height: RAMP_SIZE.height };
    renderer.rect(box, { color });
  });
  x -= LEGEND_GAP_PX;
  write(ends[0], theme.label);
  write(title, theme.text);
}
