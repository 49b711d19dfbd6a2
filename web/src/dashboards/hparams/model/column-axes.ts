import { makeTicks } from '../../../charts/axes/ticks';
import {
  computeRank,
  findDistinctValues,
  formatColumnValue,
  sortValues,
  type TrialColumn,
} from './trials';

export type AxisScale = 'linear' | 'log' | 'quantile';

export interface ColumnAxisTick {
  /** Where it stands, from 0 to 1. */
  readonly position: number;
  readonly text: string;
}

/** How the values of a column are laid out along a line from 0 to 1. */
export interface ColumnAxis {
  readonly column: TrialColumn;
  readonly scale: AxisScale;
  /** NaN where the value has no place. */
  toPosition(value: number): number;
  toValue(place: number): number;
  readonly ticks: readonly ColumnAxisTick[];
  /** Whether sessions stand at few places only, each of which is a tick. */
  readonly isDiscrete: boolean;
}

/** A few values are all written at the axis. */
const MAX_DISCRETE_VALUES = 9;
const MAX_DISCRETE_CATEGORIES = 40;
const TICK_COUNT = 6;
/** From the smallest to the largest value it takes so many times to be laid out by its logarithm, */
const MIN_LOG_RATIO = 10;
/** and half of the values have to be in so small a part of the axis. */
const MAX_LOG_MEDIAN_POSITION = 0.2;

/** The scales that a column can be laid out by. */
export function listScales(column: TrialColumn): readonly AxisScale[] {
  if (column.categories) return ['linear'];
  const { low } = computeExtent(column);
  return low > 0 ? ['linear', 'log', 'quantile'] : ['linear', 'quantile'];
}

/** Steps of hyperparameters over magnitudes are what people mean, not their distances. */
export function getDefaultScale(column: TrialColumn): AxisScale {
  if (column.categories || column.kind !== 'hparam') return 'linear';
  const { low, high } = computeExtent(column);
  if (!(low > 0) || high / low < MIN_LOG_RATIO) return 'linear';
  const sorted = sortValues(column);
  const middle = sorted[sorted.length >> 1] ?? low;
  return (middle - low) / (high - low) < MAX_LOG_MEDIAN_POSITION ? 'log' : 'linear';
}

export function makeAxis(column: TrialColumn, wanted: AxisScale, flipped = false): ColumnAxis {
  const scale = listScales(column).includes(wanted) ? wanted : 'linear';
  const axis = column.categories
    ? makeCategoryAxis(column, column.categories)
    : makeNumberAxis(column, scale);
  if (!flipped) return axis;
  return {
    ...axis,
    toPosition: (value) => 1 - axis.toPosition(value),
    toValue: (place) => axis.toValue(1 - place),
    ticks: axis.ticks.map(({ position, text }) => ({ position: 1 - position, text })),
  };
}

/** Where each session stands. */
export function computePositions({ column, toPosition }: ColumnAxis): Float32Array {
  return Float32Array.from(column.values, toPosition);
}

function computeExtent({ values }: TrialColumn): { low: number; high: number } {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high };
}

/** Words stand at equal distances, with half of one at both ends. */
function makeCategoryAxis(column: TrialColumn, words: readonly string[]): ColumnAxis {
  const at = (value: number): number => (value + 0.5) / words.length;
  return {
    column,
    scale: 'linear',
    toPosition: at,
    toValue: (place) => place * words.length - 0.5,
    ticks: words.map((text, value) => ({ position: at(value), text })),
    isDiscrete: words.length <= MAX_DISCRETE_CATEGORIES,
  };
}

function makeNumberAxis(column: TrialColumn, scale: AxisScale): ColumnAxis {
  const layout = scale === 'quantile' ? mapByRank(column) : mapByValue(column, scale === 'log');
  const values = makeTickValues(column, scale, layout.toValue);
  const ticks = values.map((value) => ({
    position: layout.toPosition(value),
    text: formatColumnValue(column, value),
  }));
  return { column, scale, ...layout, ticks, isDiscrete: findDiscreteValues(column) !== null };
}

type AxisMapping = Pick<ColumnAxis, 'toPosition' | 'toValue'>;

function mapByValue(column: TrialColumn, isLog: boolean): AxisMapping {
  const bend = isLog ? Math.log : (value: number): number => value;
  const unbend = isLog ? Math.exp : (value: number): number => value;
  const ends = computeExtent(column);
  const low = bend(ends.low);
  const span = bend(ends.high) - low;
  const at = (value: number): number => {
    if (!Number.isFinite(value)) return NaN;
    return span > 0 ? (bend(value) - low) / span : 0.5;
  };
  const valueAt = (place: number): number => {
    // Logarithms and back again would leave the very ends.
    if (place <= 0 || !(span > 0)) return ends.low;
    return place >= 1 ? ends.high : unbend(low + place * span);
  };
  return { toPosition: at, toValue: valueAt };
}

/** Equal values share the middle of their ranks. */
function mapByRank(column: TrialColumn): AxisMapping {
  const sorted = sortValues(column);
  const last = sorted.length - 1;
  const at = (value: number): number => {
    if (!Number.isFinite(value)) return NaN;
    return last < 1 ? 0.5 : Math.min(1, Math.max(0, computeRank(sorted, value)));
  };
  const valueAt = (place: number): number => {
    const rank = Math.min(last, Math.max(0, place * last));
    const [from, to] = [sorted[Math.floor(rank)] ?? NaN, sorted[Math.ceil(rank)] ?? NaN];
    return from + (to - from) * (rank - Math.floor(rank));
  };
  return { toPosition: at, toValue: valueAt };
}

/** What is chosen may have few values; that what is measured has few is chance. */
function findDiscreteValues(column: TrialColumn): readonly number[] | null {
  return column.kind === 'hparam' ? findDistinctValues(column, MAX_DISCRETE_VALUES) : null;
}

function makeTickValues(
  column: TrialColumn,
  scale: AxisScale,
  valueAt: (place: number) => number,
): readonly number[] {
  const few = findDiscreteValues(column);
  if (few) return few;
  const { low, high } = computeExtent(column);
  if (low > high) return [];
  if (scale === 'quantile') return [0, 0.25, 0.5, 0.75, 1].map(valueAt);
  const format = column.format === 'value' ? 'number' : column.format;
  return makeTicks(scale, format, [low, high], TICK_COUNT).map(({ value }) => value);
}

/** An axis with some room at its ends, and where each session stands on it. */
export interface ScatterAxis {
  readonly axis: ColumnAxis;
  readonly positions: Float32Array;
  /** The same, but sessions that share one of few places lie beside each other: across, and up. */
  readonly jitteredX: Float32Array;
  readonly jitteredY: Float32Array;
}

/** Axes are laid out once, however many planes have them. */
export class ScatterAxisCache {
  readonly #axes = new Map<string, ScatterAxis>();
  readonly #make: (column: TrialColumn) => ColumnAxis;

  constructor(make: (column: TrialColumn) => ColumnAxis) {
    this.#make = make;
  }

  get(column: TrialColumn): ScatterAxis {
    const known = this.#axes.get(column.key);
    if (known) return known;
    const axis = withPadding(this.#make(column));
    const positions = computePositions(axis);
    const jitteredX = addJitter(axis, positions, GOLDEN_RATIO);
    const jitteredY = addJitter(axis, positions, PLASTIC_RATIO);
    const scatterAxis = { axis, positions, jitteredX, jitteredY };
    this.#axes.set(column.key, scatterAxis);
    return scatterAxis;
  }
}

/** Room at both ends, as parts of the axis: more where sessions lie beside each other. */
const AXIS_PADDING = 0.03;
const DISCRETE_AXIS_PADDING = 0.12;

/** The same axis, but no session stands at the very edge. */
function withPadding(axis: ColumnAxis): ColumnAxis {
  if (axis.column.categories) return axis;
  const room = axis.isDiscrete ? DISCRETE_AXIS_PADDING / 2 : AXIS_PADDING;
  const inwards = (place: number): number => room + place * (1 - 2 * room);
  return {
    ...axis,
    toPosition: (value) => inwards(axis.toPosition(value)),
    toValue: (place) => axis.toValue((place - room) / (1 - 2 * room)),
    ticks: axis.ticks.map(({ position, text }) => ({ position: inwards(position), text })),
  };
}

/** Part of the way to the next place that sessions lie within. */
const JITTER_SHARE = 0.5;
/**
 * Multiples of such numbers put neighbours far apart, however many there are; two of them, so that
 * dots do not line up where both axes have few places.
 */
const GOLDEN_RATIO = 0.6180339887;
const PLASTIC_RATIO = 0.569840291;

function addJitter(
  { ticks, isDiscrete }: ColumnAxis,
  places: Float32Array,
  share: number,
): Float32Array {
  if (!isDiscrete || ticks.length === places.length) return places;
  const room = Math.min(DISCRETE_AXIS_PADDING, JITTER_SHARE / Math.max(1, ticks.length));
  return places.map((place, row) => place + ((((row + 1) * share) % 1) - 0.5) * room);
}
