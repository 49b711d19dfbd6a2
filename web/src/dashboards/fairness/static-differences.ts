/** Differences with intervals in a static export, computed as on the server. */
import type { DifferenceResponse, ResultResponse } from '../../api/schemas';
import { getCell, type Interval } from './evaluation-model';
import { getHalfWidth, getTwoSidedPValue } from './student-t';

const ROUNDING = 1e-12;

/** What the slices of a result are compared with. */
export interface DifferenceBaseline {
  /** Return the value that a slice and a column are compared with. */
  getValue(slice: number, column: number): Interval;
  /** Position of the baseline slice; -1 for another evaluation, whose replicates are not paired. */
  readonly slice: number;
}

/**
 * Return the differences of all slices and columns. With replicates, the interval is that of the
 * difference itself. Otherwise the intervals of both values are combined, which assumes that they
 * are independent.
 */
export function computeDifferences(
  result: ResultResponse,
  baseline: DifferenceBaseline,
): DifferenceResponse {
  const width = result.columns.length;
  const size = result.value.length;
  const arrays = {
    baseline_value: new Float64Array(size),
    difference: new Float64Array(size),
    lower: new Float64Array(size),
    upper: new Float64Array(size),
    relative: new Float64Array(size),
    relative_lower: new Float64Array(size),
    relative_upper: new Float64Array(size),
    p_value: new Float64Array(size),
  };
  const degrees = result.samples - 1;
  const halfWidth = getHalfWidth(result.confidence, degrees);
  const isPaired = result.replicates !== null && baseline.slice >= 0;
  for (let at = 0; at < size; at++) {
    const [slice, column] = [Math.floor(at / width), at % width];
    const base = baseline.getValue(slice, column);
    const value = result.value[at] ?? NaN;
    const difference = value - base.value;
    const relative = divide(value, base.value) - 1;
    const isBaseline = slice === baseline.slice;
    const isConstant = hasNoWidth(getCell(result, slice, column)) || hasNoWidth(base);
    const spread = isConstant
      ? UNKNOWN_SPREAD
      : isPaired
        ? getPairedSpread(result, at, baseline.slice * width + column, halfWidth)
        : combineIntervals(result, at, base);
    const error = (spread.below + spread.above) / (2 * halfWidth);
    arrays.baseline_value[at] = base.value;
    arrays.difference[at] = difference;
    arrays.relative[at] = relative;
    arrays.lower[at] = isBaseline ? difference : difference - spread.below;
    arrays.upper[at] = isBaseline ? difference : difference + spread.above;
    arrays.relative_lower[at] = isBaseline ? relative : relative - spread.relativeBelow;
    arrays.relative_upper[at] = isBaseline ? relative : relative + spread.relativeAbove;
    arrays.p_value[at] =
      isBaseline || !(error > 0) ? NaN : getTwoSidedPValue(difference / error, degrees);
  }
  return {
    slices: result.slices,
    columns: result.columns.map((_, at) => at),
    ...arrays,
    adjusted_p_value: arrays.p_value,
    comparisons: 0,
    gaps: [],
  };
}

/** Return whether all replicates are equal, so that the variation of a value is not known. */
function hasNoWidth({ lower, upper }: Interval): boolean {
  return upper - lower <= ROUNDING * Math.max(Math.abs(upper), 1);
}

/** Distances of the bounds from the difference and from the relative difference. */
interface Spread {
  readonly below: number;
  readonly above: number;
  readonly relativeBelow: number;
  readonly relativeAbove: number;
}

const UNKNOWN_SPREAD: Spread = {
  below: NaN,
  above: NaN,
  relativeBelow: NaN,
  relativeAbove: NaN,
};

function combineIntervals(result: ResultResponse, at: number, base: Interval): Spread {
  const value = result.value[at] ?? NaN;
  const below = Math.hypot(value - (result.lower[at] ?? NaN), base.upper - base.value);
  const above = Math.hypot((result.upper[at] ?? NaN) - value, base.value - base.lower);
  const scale = Math.abs(base.value);
  // A negative baseline exchanges the bounds.
  const [low, high] = base.value < 0 ? [above, below] : [below, above];
  return { below, above, relativeBelow: divide(low, scale), relativeAbove: divide(high, scale) };
}

function getPairedSpread(
  result: ResultResponse,
  at: number,
  baselineAt: number,
  halfWidth: number,
): Spread {
  const differences: number[] = [];
  const ratios: number[] = [];
  const size = result.value.length;
  for (let start = 0; start < (result.replicates?.length ?? 0); start += size) {
    const value = result.replicates?.[start + at] ?? NaN;
    const base = result.replicates?.[start + baselineAt] ?? NaN;
    differences.push(value - base);
    ratios.push(divide(value, base));
  }
  const margin = halfWidth * getStandardError(differences, result.method);
  const relativeMargin = halfWidth * getStandardError(ratios, result.method);
  return {
    below: margin,
    above: margin,
    relativeBelow: relativeMargin,
    relativeAbove: relativeMargin,
  };
}

function getStandardError(replicates: readonly number[], method: string): number {
  const count = replicates.length;
  const mean = replicates.reduce((sum, value) => sum + value, 0) / count;
  const squares = replicates.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (count - 1));
  return method === 'jackknife' ? (deviation * (count - 1)) / Math.sqrt(count) : deviation;
}

function divide(value: number, by: number): number {
  return by === 0 ? NaN : value / by;
}
