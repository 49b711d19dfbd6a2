/** Positions of the values of a column along an axis from 0 to 1. */
import { makeTicks } from '../../../charts/axes/ticks';
import {
  computeRank,
  findDistinctValues,
  formatColumnValue,
  getCategoryLabel,
  sortValues,
  type TrialColumn,
} from './trials';

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
}

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
    const scatterAxis = { axis, positions: computePositions(axis) };
    this.#axes.set(column.key, scatterAxis);
    return scatterAxis;
  }
}

/** Fractions of the axis at both ends. */
const AXIS_PADDING = 0.03;
const DISCRETE_AXIS_PADDING = 0.12;

/** Keep trials away from the ends of the axis. */
function withPadding(axis: ColumnAxis): ColumnAxis {
  if (axis.column.categories) return axis;
  const padding = axis.isDiscrete ? DISCRETE_AXIS_PADDING / 2 : AXIS_PADDING;
  const shrink = (position: number): number => padding + position * (1 - 2 * padding);
  return {
    ...axis,
    toPosition: (value) => shrink(axis.toPosition(value)),
    toValue: (position) => axis.toValue((position - padding) / (1 - 2 * padding)),
    ticks: axis.ticks.map(({ position, text }) => ({ position: shrink(position), text })),
  };
}
