/** Compute the charts, bands and statistics of a static export as the server does. */
import { computeStats } from '../../lib/arrays';
import type { ChartRow } from '../query-definition';
import type {
  BandCenter,
  BandRow,
  BandSpread,
  ChartRequest,
  ChartsRequest,
  JsonNumber,
  LineRow,
  NearestPointRow,
  NonFiniteRow,
  PointRow,
  RangeStatsRow,
  RunGroup,
} from '../schemas';
import {
  bisectLeft,
  interpolate,
  listRowsInRange,
  makeBaseline,
  selectRows,
  type SeriesKey,
  type SeriesView,
} from './series-view';

const MAX_NON_FINITE = 50;

export function makePointRow(curve: SeriesView, row: number | null): PointRow | null {
  if (row === null || row < 0 || row >= curve.x.length) return null;
  return {
    step: curve.step[row] ?? NaN,
    wall_time: toJsonNumber(curve.wallTime[row]),
    x: curve.x[row] ?? NaN,
    value: toJsonNumber(curve.value[row]),
    smoothed: toJsonNumber(curve.smoothed[row]),
  };
}

/** Return the rows of the lowest and the highest finite value. */
export function getExtremes({ value }: SeriesView): { low: number | null; high: number | null } {
  let [low, high]: [number | null, number | null] = [null, null];
  value.forEach((current, row) => {
    if (!Number.isFinite(current)) return;
    if (low === null || current < (value[low] ?? NaN)) low = row;
    if (high === null || current > (value[high] ?? NaN)) high = row;
  });
  return { low, high };
}

/** Return the first non-finite values. */
export function listNonFinite(curve: SeriesView): NonFiniteRow[] {
  const rows: NonFiniteRow[] = [];
  curve.value.forEach((value, row) => {
    if (Number.isFinite(value) || rows.length === MAX_NON_FINITE) return;
    const kind = Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
    rows.push({ x: curve.x[row] ?? NaN, step: curve.step[row] ?? NaN, kind });
  });
  return rows;
}

/** Return the point nearest to an x; of two, the earlier one. */
export function findNearest(
  run: string,
  tag: string,
  curve: SeriesView,
  target: number,
): NearestPointRow | null {
  let nearest = -1;
  let distance = Infinity;
  curve.x.forEach((x, row) => {
    if (Math.abs(x - target) < distance) {
      nearest = row;
      distance = Math.abs(x - target);
    }
  });
  const point = makePointRow(curve, nearest);
  const wall = curve.wallTime[nearest] ?? NaN;
  return point && { run, tag, ...point, relative_s: toJsonNumber(wall - curve.startTime) };
}

/** Return a number as the server sends it. */
export function toJsonNumber(value: number | undefined): JsonNumber {
  if (value !== undefined && Number.isFinite(value)) return value;
  return value === Infinity ? 'Infinity' : value === -Infinity ? '-Infinity' : 'NaN';
}

/** How the lines of a chart are reduced. */
export interface LinePlan {
  readonly start: number;
  readonly stop: number;
  readonly columns: number;
  /** Lines with more points in the range are reduced to columns. */
  readonly maxPoints: number;
  readonly isSmoothed: boolean;
  /** Without raw values and extremes, for charts with many lines. */
  readonly lineOnly: boolean;
}

type LineColumns = Pick<LineRow, 'x' | 'y' | 'raw' | 'low' | 'high'>;

export function makeLineRow(key: SeriesKey, curve: SeriesView, plan: LinePlan): LineRow {
  const { low, high } = getExtremes(curve);
  const last = curve.x.length - 1;
  return {
    ...key,
    points: curve.series.points,
    overwritten: curve.series.overwritten,
    ...makeLineColumns(curve, plan),
    first: makePointRow(curve, 0),
    last: makePointRow(curve, last),
    min: makePointRow(curve, low),
    max: makePointRow(curve, high),
    nonfinite: listNonFinite(curve),
    nonfinite_count: curve.series.nonfinite_count,
    overwritten_parts: [],
  };
}

/** Return the centers of the columns, which are the x of reduced lines. */
export function makeGrid({ start, stop, columns }: LinePlan): Float64Array {
  const width = (stop - start) / columns;
  return Float64Array.from({ length: columns }, (_, column) => start + (column + 0.5) * width);
}

function makeLineColumns(curve: SeriesView, plan: LinePlan): LineColumns {
  const rows = listRowsInRange(curve, plan.start, plan.stop);
  if (rows.length <= plan.maxPoints || !curve.isSorted) {
    return makeFullLine(selectRows(curve, withNeighbors(rows, curve)), plan);
  }
  return makeReducedLine(selectRows(curve, rows), plan);
}

/** Add one point at each end, so that lines extend beyond the edges of the chart. */
function withNeighbors(rows: readonly number[], curve: SeriesView): readonly number[] {
  if (!curve.isSorted) return rows;
  const first = rows[0] ?? bisectLeft(curve.x, Infinity);
  const last = rows[rows.length - 1] ?? first - 1;
  return [first - 1, ...rows, last + 1].filter((row) => row >= 0 && row < curve.x.length);
}

function makeFullLine(curve: SeriesView, { isSmoothed, lineOnly }: LinePlan): LineColumns {
  const raw = isSmoothed && !lineOnly ? curve.value : null;
  return { x: curve.x, y: curve.smoothed, raw, low: null, high: null };
}

/** Return the last finite value of each column, and its extremes before smoothing. */
function makeReducedLine(curve: SeriesView, plan: LinePlan): LineColumns {
  const makeColumn = (): Float64Array => new Float64Array(plan.columns).fill(NaN);
  const [y, raw, low, high] = [makeColumn(), makeColumn(), makeColumn(), makeColumn()];
  const scale = plan.columns / (plan.stop - plan.start);
  curve.x.forEach((x, row) => {
    const value = curve.value[row] ?? NaN;
    if (!Number.isFinite(value)) return;
    const column = Math.min(plan.columns - 1, Math.floor((x - plan.start) * scale));
    y[column] = curve.smoothed[row] ?? NaN;
    raw[column] = value;
    if (!(value >= (low[column] ?? NaN))) low[column] = value;
    if (!(value <= (high[column] ?? NaN))) high[column] = value;
  });
  if (plan.lineOnly && plan.isSmoothed) return { x: null, y, raw: null, low: null, high: null };
  return { x: null, y, raw: plan.isSmoothed ? raw : null, low, high };
}

/** The 97.5 % quantile of Student's t-distribution with 1, 2, … degrees of freedom. */
const T_QUANTILES = [
  12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
  2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.13145, 2.119905, 2.109816, 2.100922, 2.093024,
  2.085963,
];

const NORMAL_QUANTILE = 1.959963985;

/** Return the half width of a 95 % confidence interval, in standard errors. */
export function getTQuantile(freedom: number): number {
  return T_QUANTILES[freedom - 1] ?? approximateTQuantile(freedom);
}

/** Fisher's expansion around the normal distribution, for many degrees of freedom. */
function approximateTQuantile(freedom: number): number {
  const z = NORMAL_QUANTILE;
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384;
  return z + first / freedom + second / freedom ** 2 + third / freedom ** 3;
}

export interface BandPlan {
  readonly start: number;
  readonly stop: number;
  readonly maxPositions: number;
  readonly center: BandCenter;
  readonly spread: BandSpread;
  readonly minRuns: number;
}

type BandMember = readonly [SeriesKey, SeriesView];

/** Return a band per group and tag. */
export function makeBandRows(
  groups: readonly RunGroup[],
  members: readonly BandMember[],
  plan: BandPlan,
): BandRow[] {
  const positions = getBandPositions(members, plan);
  const tags = [...new Set(members.map(([key]) => key.tag))];
  return tags.flatMap((tag) =>
    groups.flatMap((group) => {
      const inGroup = members.filter(([key]) => key.tag === tag && group.runs.includes(key.run));
      return inGroup.length > 0 ? [makeBandRow(group.key, tag, inGroup, positions, plan)] : [];
    }),
  );
}

/** Return the x values of all points, or an even selection of them if there are many. */
function getBandPositions(members: readonly BandMember[], plan: BandPlan): Float64Array {
  const positions = new Set<number>();
  for (const [, curve] of members) {
    for (const row of listRowsInRange(curve, plan.start, plan.stop))
      positions.add(curve.x[row] ?? NaN);
  }
  const sorted = Float64Array.from(positions).sort();
  const interval = Math.max(1, Math.ceil(sorted.length / plan.maxPositions));
  return sorted.filter((_, index) => index % interval === 0 || index === sorted.length - 1);
}

function makeBandRow(
  group: string,
  tag: string,
  members: readonly BandMember[],
  positions: Float64Array,
  plan: BandPlan,
): BandRow {
  const curves = members.map(([, curve]) => makeBaseline(curve));
  const rows: (readonly [x: number, count: number, ...columns: BandValues])[] = [];
  for (const x of positions) {
    const values = curves
      .map((curve) => interpolate(curve.x, curve.smoothed, x))
      .filter((value) => !Number.isNaN(value));
    if (values.length >= plan.minRuns) rows.push([x, values.length, ...aggregate(values, plan)]);
    else if (values.length > 0) rows.push([x, values.length, NaN, NaN, NaN, NaN, NaN]);
  }
  const isEnough = ([, , , center]: (typeof rows)[number]): boolean => !Number.isNaN(center);
  const kept = rows.slice(Math.max(0, rows.findIndex(isEnough)), rows.findLastIndex(isEnough) + 1);
  const column = (index: 0 | 2 | 3 | 4 | 5 | 6): Float64Array =>
    Float64Array.from(kept, (row) => row[index]);
  const hasInner = plan.spread === 'quantiles';
  return {
    group,
    tag,
    runs: members.length,
    x: column(0),
    count: Int32Array.from(kept, (row) => row[1]),
    low: column(2),
    center: column(3),
    high: column(4),
    inner_low: hasInner ? column(5) : null,
    inner_high: hasInner ? column(6) : null,
  };
}

type BandValues = readonly [
  low: number,
  center: number,
  high: number,
  innerLow: number,
  innerHigh: number,
];

/** Return the edges and the center of a band at one x, and the edges of its inner part. */
function aggregate(values: readonly number[], { center, spread }: BandPlan): BandValues {
  if (spread === 'quantiles') {
    const sorted = Float64Array.from(values).sort();
    const [low, middle, high, innerLow, innerHigh] = [0.05, 0.5, 0.95, 0.25, 0.75].map((share) =>
      computeQuantile(sorted, share),
    ) as [number, number, number, number, number];
    return [low, middle, high, innerLow, innerHigh];
  }
  const stats = computeStats(values);
  const middle = center === 'mean' ? (stats?.mean ?? NaN) : computeMedian(values);
  if (spread === 'minmax') return [Math.min(...values), middle, Math.max(...values), NaN, NaN];
  const halfWidth = stats && stats.count > 1 ? stats.std * getBandFactor(spread, stats.count) : 0;
  return [middle - halfWidth, middle, middle + halfWidth, NaN, NaN];
}

function getBandFactor(spread: BandSpread, count: number): number {
  if (spread === 'std') return 1;
  return (spread === 'ci95' ? getTQuantile(count - 1) : 1) / Math.sqrt(count);
}

function computeMedian(values: readonly number[]): number {
  return computeQuantile(Float64Array.from(values).sort(), 0.5);
}

/** Return a quantile of sorted values, interpolated between the two nearest ranks. */
function computeQuantile(sorted: Float64Array, share: number): number {
  const rank = share * (sorted.length - 1);
  const low = sorted[Math.floor(rank)] ?? NaN;
  const high = sorted[Math.ceil(rank)] ?? NaN;
  return low + (high - low) * (rank - Math.floor(rank));
}

/** Return statistics of a curve within a range; null without points. */
export function makeRangeStatsRow(
  run: string,
  tag: string,
  curve: SeriesView,
  start: number | null,
  stop: number | null,
): RangeStatsRow | null {
  const inside = selectRows(curve, listRowsInRange(curve, start, stop));
  const count = inside.x.length;
  if (count === 0) return null;
  const { low, high } = getExtremes(inside);
  const first = inside.value[0] ?? NaN;
  const change = (inside.value[count - 1] ?? NaN) - first;
  return {
    run,
    tag,
    start: makePointRow(inside, 0),
    stop: makePointRow(inside, count - 1),
    min: makePointRow(inside, low),
    max: makePointRow(inside, high),
    mean: computeMean(inside),
    count,
    change: finiteOrNull(change),
    change_ratio: finiteOrNull(change / Math.abs(first)),
  };
}

/** Return the mean; null if points are missing, as the exported ones are not a random sample. */
function computeMean({ series, value }: SeriesView): JsonNumber | null {
  const finite = value.filter(Number.isFinite);
  if (series.index !== null || finite.length === 0) return null;
  return finite.reduce((sum, current) => sum + current, 0) / finite.length;
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

type Member = readonly [SeriesKey, SeriesView];

/** In charts with more lines, only the lines themselves are drawn. */
const MAX_DETAILED_LINES = 100;
const MAX_CELLS = 380_000;
const MIN_COLUMNS = 100;
const MAX_FULL_POINTS = 300_000;
const MIN_POINTS_BUDGET = 2000;

type ChartRange = Pick<Required<ChartRequest>, 'start' | 'stop'>;

/** Return a chart of some curves, as the server does. */
export function makeChartRow(
  chart: Omit<Required<ChartRequest>, 'base'>,
  request: Required<ChartsRequest>,
  members: readonly Member[],
): ChartRow {
  const [start, stop] = getXRange(chart, members);
  const groupedRuns = new Set((request.groups ?? []).flatMap((group) => group.runs));
  const ungrouped = members.filter(([key]) => !groupedRuns.has(key.run));
  const grouped = members.filter(([key]) => groupedRuns.has(key.run));
  const thinned = members.some(([, curve]) => curve.series.index !== null);
  const plan = makeLinePlan(ungrouped, request, start, stop);
  const lines = ungrouped.map(([key, curve]) => makeLineRow(key, curve, plan));
  const maxPositions = Math.max(MIN_COLUMNS, 2 * request.width);
  const bandPlan = makeBandPlan(request, start, stop, maxPositions);
  return {
    id: chart.id,
    error: null,
    runs: new Set(members.map(([key]) => key.run)).size,
    points: countPoints(chart, members),
    reduced: thinned || isReduced(members, plan),
    thinned,
    grid: lines.some((line) => line.x === null) ? makeGrid(plan) : null,
    lines: lines.filter((line) => line.points > 0),
    bands: makeBandRows(request.groups ?? [], grouped, bandPlan),
    revision: '',
    base: null,
  };
}

type BandOptions = Required<Pick<ChartsRequest, 'center' | 'band' | 'min_runs'>>;

export function makeBandPlan(
  { center, band, min_runs }: BandOptions,
  start: number,
  stop: number,
  maxPositions: number,
): BandPlan {
  return { start, stop, maxPositions, center, spread: band, minRuns: min_runs };
}

/** Return the x range of a chart: that of the request or of the points. */
export function getXRange(
  { start, stop }: ChartRange,
  members: readonly Member[],
): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const [, curve] of members) {
    for (const row of listRowsInRange(curve, start, stop)) {
      low = Math.min(low, curve.x[row] ?? NaN);
      high = Math.max(high, curve.x[row] ?? NaN);
    }
  }
  if (low > high) [low, high] = [0, 1];
  return [start ?? low, stop ?? high];
}

function makeLinePlan(
  members: readonly Member[],
  request: Required<ChartsRequest>,
  start: number,
  stop: number,
): LinePlan {
  const isSmoothed = request.smoothing !== null;
  const lineOnly = members.length > MAX_DETAILED_LINES;
  const cellsPerColumn = isSmoothed ? (lineOnly ? 1 : 4) : 3;
  const count = Math.max(1, members.length);
  const maxColumns = Math.max(Math.floor(MAX_CELLS / (count * cellsPerColumn)), MIN_COLUMNS);
  const columns = Math.min(request.width, maxColumns);
  const maxPoints = Math.max(2 * columns, Math.floor(MIN_POINTS_BUDGET / count));
  const total = members.reduce((sum, [, curve]) => sum + Math.min(curve.x.length, maxPoints), 0);
  return {
    start,
    stop: stop > start ? stop : start + 1,
    columns,
    maxPoints: total > MAX_FULL_POINTS ? 0 : maxPoints,
    isSmoothed,
    lineOnly,
  };
}

/** Count the points of the log or, within a range, the exported points. */
function countPoints({ start, stop }: ChartRange, members: readonly Member[]): number {
  const isUnlimited = start === null && stop === null;
  return members.reduce(
    (sum, [, curve]) =>
      sum + (isUnlimited ? curve.series.points : listRowsInRange(curve, start, stop).length),
    0,
  );
}

function isReduced(members: readonly Member[], { start, stop, maxPoints }: LinePlan): boolean {
  return members.some(([, curve]) => listRowsInRange(curve, start, stop).length > maxPoints);
}
