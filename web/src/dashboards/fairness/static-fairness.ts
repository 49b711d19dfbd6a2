/**
 * Evaluations of a static export, which has the results and their differences to one baseline. Other
 * differences and their intervals are computed as on the server.
 */
import type {
  DifferenceRequest,
  DifferenceResponse,
  EvaluationsResponse,
  PlotsResponse,
  ResultResponse,
} from '../../api/schemas';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';
import { encodeQuery } from '../../api/transport';
import { selectDifferences } from './differences';
import { getCell, getDefaultBaseline, type Interval } from './evaluation-model';

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

// ---- Student's t distribution, as on the server (`tracklight.analysis.evaluation.resampling`)

const EPSILON = 3e-15;
const MAX_ITERATIONS = 500;
const BISECTIONS = 80;

/** Return the two-sided p-value of a t statistic; NaN stays NaN. */
export function getTwoSidedPValue(t: number, degrees: number): number {
  if (!Number.isFinite(t)) return Number.isNaN(t) ? NaN : 0;
  return incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

/** Return the half-width of a two-sided interval in standard errors. */
export function getHalfWidth(confidence: number, degrees: number): number {
  let [low, high] = [0, 1];
  while (getTwoSidedPValue(high, degrees) > 1 - confidence) high *= 2;
  for (let round = 0; round < BISECTIONS; round++) {
    const middle = (low + high) / 2;
    if (getTwoSidedPValue(middle, degrees) > 1 - confidence) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Return the regularized incomplete beta function I_x(a, b). */
function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const logFront = logGamma(a + b) - logGamma(a) - logGamma(b);
  const front = Math.exp(logFront + a * Math.log(x) + b * Math.log1p(-x)) / a;
  return Math.min(1, Math.max(0, front * evaluateFraction(a, b, x)));
}

/** Evaluate the continued fraction of the incomplete beta function (Lentz's method). */
function evaluateFraction(a: number, b: number, x: number): number {
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m < MAX_ITERATIONS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    result *= d * c;
    if (Math.abs(d * c - 1) < EPSILON) break;
  }
  return result;
}

/** Return the logarithm of the gamma function of a positive number (Stirling's series). */
function logGamma(x: number): number {
  // The series is accurate above 10; the recurrence gets there.
  let shift = 0;
  let z = x;
  for (; z < 10; z++) shift += Math.log(z);
  const inverse = 1 / (z * z);
  const series =
    1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)));
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series / z - shift;
}

const API_PATH = 'api/v1/fairness/';
const UNKNOWN: Interval = { value: NaN, lower: NaN, upper: NaN };

export const fairnessHandlers: StaticHandlers = {
  'POST fairness/difference': async (request, contents) => {
    const result = await readResult(contents, request.id, request.model);
    const all = await readDifferences(contents, request, result);
    return selectDifferences(all, result, request);
  },
  'POST fairness/plots': async ({ id, model, slices, output }, contents) => {
    const path = makePath('plots', id, model);
    if (!contents.has(path)) return { plots: [], confusion: [], missing: slices, exact: false };
    const all = (await contents.read(path)) as PlotsResponse;
    const isWanted = ({ slice }: { slice: number }): boolean => slices.includes(slice);
    const confusion = all.confusion.filter(isWanted);
    const plots = all.plots.filter(isWanted);
    const found = new Set([...plots, ...confusion].map(({ slice }) => slice));
    return {
      plots: plots.filter((row) => !output || row.output === output),
      confusion,
      missing: slices.filter((slice) => !found.has(slice)),
      exact: all.exact,
    };
  },
  'POST fairness/history': async (request, contents) => {
    const { run, tag, metric, slices, threshold = null, output = null } = request;
    const list = (await readAny(contents, `${API_PATH}evaluations`)) as EvaluationsResponse;
    const rows = list.evaluations
      .filter((row) => row.run === run && row.tag === tag && row.step !== null)
      .sort((one, other) => (one.step ?? 0) - (other.step ?? 0));
    const results = await Promise.all(rows.map(({ id }) => readResult(contents, id, null)));
    const series = slices.map((slice) => {
      const cells = results.map((result) => {
        const at = result.slices.indexOf(slice);
        const column = result.columns.findIndex(
          (one) => one.metric === metric && one.threshold === threshold && one.output === output,
        );
        const isKnown = at >= 0 && column >= 0;
        const cell = isKnown ? getCell(result, at, column) : UNKNOWN;
        return { ...cell, count: at >= 0 ? (result.counts[at] ?? 0) : 0 };
      });
      return {
        slice,
        value: Float64Array.from(cells, ({ value }) => value),
        lower: Float64Array.from(cells, ({ lower }) => lower),
        upper: Float64Array.from(cells, ({ upper }) => upper),
        count: Float64Array.from(cells, ({ count }) => count),
      };
    });
    return {
      cursor: '',
      steps: Float64Array.from(rows, ({ step }) => step ?? NaN),
      wall_time: Float64Array.from(rows, ({ wall_time }) => wall_time ?? NaN),
      ids: rows.map(({ id }) => id),
      series,
      problems: [],
    };
  },
};

function makePath(name: string, id: string, model: string | null | undefined): string {
  return `${API_PATH}${name}?${encodeQuery({ id, model })}`;
}

async function readAny(contents: ExportContents, path: string): Promise<unknown> {
  return contents.head.responses[path] ?? contents.read(path);
}

function readResult(
  contents: ExportContents,
  id: string,
  model: string | null | undefined,
): Promise<ResultResponse> {
  return readAny(contents, makePath('result', id, model)) as Promise<ResultResponse>;
}

async function readDifferences(
  contents: ExportContents,
  request: DifferenceRequest,
  result: ResultResponse,
): Promise<DifferenceResponse> {
  const { id, model, other, other_model, baseline = '' } = request;
  if (other) {
    const second = await readResult(contents, other, other_model);
    const rows = new Map(second.slices.map((name, at) => [name, at]));
    const columns = new Map(second.columns.map((column, at) => [makeColumnKey(column), at]));
    return computeDifferences(result, {
      slice: -1,
      getValue: (slice, column) => {
        const row = rows.get(result.slices[slice] ?? '') ?? -1;
        const at = columns.get(makeColumnKey(result.columns[column])) ?? -1;
        return row < 0 || at < 0 ? UNKNOWN : getCell(second, row, at);
      },
    });
  }
  // Exported if the replicates of the evaluation were too many.
  const path = makePath('difference', id, model);
  if (baseline === getDefaultBaseline(result) && contents.has(path)) {
    return (await contents.read(path)) as DifferenceResponse;
  }
  const at = result.slices.indexOf(baseline);
  return computeDifferences(result, {
    slice: at,
    getValue: (_, column) => getCell(result, at, column),
  });
}

function makeColumnKey(column: ResultResponse['columns'][number] | undefined): string {
  return JSON.stringify([column?.metric, column?.threshold, column?.output]);
}
