import { ticksOf } from '../../../charts/axis/ticks';
import { type Column, distinctNumbers, sortedNumbers } from './column';
import { rankIn } from './rank';
import { sayNumber } from './words';

export type AxisScale = 'linear' | 'log' | 'quantile';

export interface AxisTick {
  /** Where it stands, from 0 to 1. */
  readonly place: number;
  readonly text: string;
}

/** How the values of a column are laid out along a line from 0 to 1. */
export interface Axis {
  readonly column: Column;
  readonly scale: AxisScale;
  /** NaN where the value has no place. */
  at(value: number): number;
  valueAt(place: number): number;
  readonly ticks: readonly AxisTick[];
  /** Whether sessions stand at few places only, each of which is a tick. */
  readonly hasFew: boolean;
}

/** A few values are all written at the axis. */
const FEW_VALUES = 9;
const MOST_WORDS = 40;
const TICKS = 6;
/** From the smallest to the largest value it takes so many times to be laid out by its logarithm, */
const WIDE = 10;
/** and half of the values have to be in so small a part of the axis. */
const CROWDED = 0.2;

/** The scales that a column can be laid out by. */
export function scalesOf(column: Column): readonly AxisScale[] {
  if (column.words) return ['linear'];
  const { low } = endsOf(column);
  return low > 0 ? ['linear', 'log', 'quantile'] : ['linear', 'quantile'];
}

/** Steps of hyperparameters over magnitudes are what people mean, not their distances. */
export function usualScale(column: Column): AxisScale {
  if (column.words || column.kind !== 'hparam') return 'linear';
  const { low, high } = endsOf(column);
  if (!(low > 0) || high / low < WIDE) return 'linear';
  const sorted = sortedNumbers(column);
  const middle = sorted[sorted.length >> 1] ?? low;
  return (middle - low) / (high - low) < CROWDED ? 'log' : 'linear';
}

export function makeAxis(column: Column, wanted: AxisScale, flipped = false): Axis {
  const scale = scalesOf(column).includes(wanted) ? wanted : 'linear';
  const axis = column.words ? wordAxis(column, column.words) : numberAxis(column, scale);
  if (!flipped) return axis;
  return {
    ...axis,
    at: (value) => 1 - axis.at(value),
    valueAt: (place) => axis.valueAt(1 - place),
    ticks: axis.ticks.map(({ place, text }) => ({ place: 1 - place, text })),
  };
}

/** Where each session stands. */
export function placesOn({ column, at }: Axis): Float32Array {
  return Float32Array.from(column.numbers, at);
}

function endsOf({ numbers }: Column): { low: number; high: number } {
  let [low, high] = [Infinity, -Infinity];
  for (const value of numbers) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high };
}

/** Words stand at equal distances, with half of one at both ends. */
function wordAxis(column: Column, words: readonly string[]): Axis {
  const at = (value: number): number => (value + 0.5) / words.length;
  return {
    column,
    scale: 'linear',
    at,
    valueAt: (place) => place * words.length - 0.5,
    ticks: words.map((text, value) => ({ place: at(value), text })),
    hasFew: words.length <= MOST_WORDS,
  };
}

function numberAxis(column: Column, scale: AxisScale): Axis {
  const layout = scale === 'quantile' ? byRank(column) : byValue(column, scale === 'log');
  const values = tickValues(column, scale, layout.valueAt);
  const ticks = values.map((value) => ({
    place: layout.at(value),
    text: sayNumber(column, value),
  }));
  return { column, scale, ...layout, ticks, hasFew: fewValues(column) !== null };
}

type Layout = Pick<Axis, 'at' | 'valueAt'>;

function byValue(column: Column, isLog: boolean): Layout {
  const bend = isLog ? Math.log : (value: number): number => value;
  const unbend = isLog ? Math.exp : (value: number): number => value;
  const ends = endsOf(column);
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
  return { at, valueAt };
}

/** Equal values share the middle of their ranks. */
function byRank(column: Column): Layout {
  const sorted = sortedNumbers(column);
  const last = sorted.length - 1;
  const at = (value: number): number => {
    if (!Number.isFinite(value)) return NaN;
    return last < 1 ? 0.5 : Math.min(1, Math.max(0, rankIn(sorted, value)));
  };
  const valueAt = (place: number): number => {
    const rank = Math.min(last, Math.max(0, place * last));
    const [from, to] = [sorted[Math.floor(rank)] ?? NaN, sorted[Math.ceil(rank)] ?? NaN];
    return from + (to - from) * (rank - Math.floor(rank));
  };
  return { at, valueAt };
}

/** What is chosen may have few values; that what is measured has few is chance. */
function fewValues(column: Column): readonly number[] | null {
  return column.kind === 'hparam' ? distinctNumbers(column, FEW_VALUES) : null;
}

function tickValues(
  column: Column,
  scale: AxisScale,
  valueAt: (place: number) => number,
): readonly number[] {
  const few = fewValues(column);
  if (few) return few;
  const { low, high } = endsOf(column);
  if (low > high) return [];
  if (scale === 'quantile') return [0, 0.25, 0.5, 0.75, 1].map(valueAt);
  const format = column.meaning === 'value' ? 'number' : column.meaning;
  return ticksOf(scale, format, [low, high], TICKS).map(({ value }) => value);
}
