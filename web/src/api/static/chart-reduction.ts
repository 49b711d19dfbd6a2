import { computeStats } from '../../lib/statistics';
import type { ChartRow } from '../scalar-schemas';
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

/** The rows of the lowest and of the highest finite value. */
export function getExtremes({ value }: SeriesView): { low: number | null; high: number | null } {
  let [low, high]: [number | null, number | null] = [null, null];
  value.forEach((one, row) => {
    if (!Number.isFinite(one)) return;
    if (low === null || one < (value[low] ?? NaN)) low = row;
    if (high === null || one > (value[high] ?? NaN)) high = row;
  });
  return { low, high };
}

/** The first of the values that are not finite. */
export function listNonFinite(curve: SeriesView): NonFiniteRow[] {
  const odd: NonFiniteRow[] = [];
  curve.value.forEach((value, row) => {
    if (Number.isFinite(value) || odd.length === MAX_NON_FINITE) return;
    const kind = Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
    odd.push({ x: curve.x[row] ?? NaN, step: curve.step[row] ?? NaN, kind });
  });
  return odd;
}

/** The point that is nearest to a place on the axis; of two, the earlier one. */
export function findNearest(
  run: string,
  tag: string,
  curve: SeriesView,
  at: number,
): NearestPointRow | null {
  let nearest = -1;
  let distance = Infinity;
  curve.x.forEach((x, row) => {
    if (Math.abs(x - at) < distance) {
      nearest = row;
      distance = Math.abs(x - at);
    }
  });
  const point = makePointRow(curve, nearest);
  const wall = curve.wallTime[nearest] ?? NaN;
  return point && { run, tag, ...point, relative_s: toJsonNumber(wall - curve.startTime) };
}

/** A number as it would have come from a server. */
export function toJsonNumber(value: number | undefined): JsonNumber {
  if (value !== undefined && Number.isFinite(value)) return value;
  return value === Infinity ? 'Infinity' : value === -Infinity ? '-Infinity' : 'NaN';
}

/** How the lines of a chart are drawn. */
export interface LinePlan {
  readonly start: number;
  readonly stop: number;
  readonly columns: number;
  /** With more points than this in the range a line is reduced to the columns. */
  readonly maxPoints: number;
  /** Whether there are values before smoothing to be told beside those after it. */
  readonly isSmoothed: boolean;
  /** Nothing but the line itself, as in a chart of hundreds. */
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
    odd: listNonFinite(curve),
    odd_count: curve.series.odd,
    faded: [],
  };
}

/** The centres of the columns, on which lines stand that were reduced. */
export function makeGrid({ start, stop, columns }: LinePlan): Float64Array {
  const width = (stop - start) / columns;
  return Float64Array.from({ length: columns }, (_, at) => start + (at + 0.5) * width);
}

function makeLineColumns(curve: SeriesView, plan: LinePlan): LineColumns {
  const rows = listRowsInRange(curve, plan.start, plan.stop);
  if (rows.length <= plan.maxPoints || !curve.isSorted) {
    return makeFullLine(selectRows(curve, withNeighbors(rows, curve)), plan);
  }
  return makeReducedLine(selectRows(curve, rows), plan);
}

/** One point more at each end, so that a line goes on beyond the edges of its chart. */
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

/** Of each column the last finite value, and the extremes before smoothing. */
function makeReducedLine(curve: SeriesView, plan: LinePlan): LineColumns {
  const make = (): Float64Array => new Float64Array(plan.columns).fill(NaN);
  const [y, raw, low, high] = [make(), make(), make(), make()];
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

/** How many standard errors a 95 % confidence interval reaches. */
export function getTQuantile(freedom: number): number {
  return T_QUANTILES[freedom - 1] ?? approximateTQuantile(freedom);
}

/** Fisher's expansion around the normal distribution, which is near where freedom is large. */
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
}

type BandMember = readonly [SeriesKey, SeriesView];

/** A band for each group and tag that some of the curves belong to. */
export function makeBandRows(
  groups: readonly RunGroup[],
  members: readonly BandMember[],
  plan: BandPlan,
): BandRow[] {
  const places = getBandPositions(members, plan);
  const tags = [...new Set(members.map(([key]) => key.tag))];
  return tags.flatMap((tag) =>
    groups.flatMap((group) => {
      const own = members.filter(([key]) => key.tag === tag && group.runs.includes(key.run));
      return own.length > 0 ? [makeBandRow(group.key, tag, own, places, plan)] : [];
    }),
  );
}

/** Where curves have points: all such places if they are few, else some, spread evenly. */
function getBandPositions(members: readonly BandMember[], plan: BandPlan): Float64Array {
  const there = new Set<number>();
  for (const [, curve] of members) {
    for (const row of listRowsInRange(curve, plan.start, plan.stop)) there.add(curve.x[row] ?? NaN);
  }
  const sorted = Float64Array.from(there).sort();
  const every = Math.max(1, Math.ceil(sorted.length / plan.maxPositions));
  return sorted.filter((_, at) => at % every === 0 || at === sorted.length - 1);
}

function makeBandRow(
  group: string,
  tag: string,
  own: readonly BandMember[],
  places: Float64Array,
  plan: BandPlan,
): BandRow {
  const bases = own.map(([, curve]) => makeBaseline(curve));
  const rows: (readonly [number, number, number, number])[] = [];
  for (const x of places) {
    const values = bases
      .map((base) => interpolate(base.x, base.smoothed, x))
      .filter((value) => !Number.isNaN(value));
    if (values.length > 0) rows.push([x, ...aggregate(values, plan)]);
  }
  const column = (at: 0 | 1 | 2 | 3): Float64Array => Float64Array.from(rows, (row) => row[at]);
  const [x, low, center, high] = [column(0), column(1), column(2), column(3)];
  return { group, tag, runs: own.length, x, low, center, high };
}

/** Low end, middle and high end of a band at one place. */
function aggregate(
  values: readonly number[],
  { center, spread }: BandPlan,
): readonly [number, number, number] {
  const found = computeStats(values);
  const middle = center === 'mean' ? (found?.mean ?? NaN) : computeMedian(values);
  if (spread === 'minmax') return [Math.min(...values), middle, Math.max(...values)];
  // A run alone has no band.
  const reach = found && found.count > 1 ? found.std * getBandFactor(spread, found.count) : 0;
  return [middle - reach, middle, middle + reach];
}

function getBandFactor(spread: BandSpread, count: number): number {
  if (spread === 'std') return 1;
  return (spread === 'ci95' ? getTQuantile(count - 1) : 1) / Math.sqrt(count);
}

function computeMedian(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** What a curve does between two places; null if it has no point there. */
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
  const before = inside.value[0] ?? NaN;
  const change = (inside.value[count - 1] ?? NaN) - before;
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
    change_ratio: finiteOrNull(change / Math.abs(before)),
  };
}

/** Not known where points are missing: those that are here were not chosen by chance. */
function computeMean({ series, value }: SeriesView): JsonNumber | null {
  const known = value.filter(Number.isFinite);
  if (series.index !== null || known.length === 0) return null;
  return known.reduce((sum, one) => sum + one, 0) / known.length;
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

type Member = readonly [SeriesKey, SeriesView];

/** A chart with more lines has no room for what surrounds each of them. */
const MAX_DETAILED_LINES = 100;
const MAX_CELLS = 380_000;
const MIN_COLUMNS = 100;
const MAX_FULL_POINTS = 300_000;
const MIN_POINTS_BUDGET = 2000;

/** A chart of some curves, as the server would draw it out of the same points. */
export function makeChartRow(
  chart: Required<ChartRequest>,
  ask: Required<ChartsRequest>,
  members: readonly Member[],
): ChartRow {
  const [start, stop] = getXRange(chart, members);
  const grouped = new Set((ask.groups ?? []).flatMap((group) => group.runs));
  const alone = members.filter(([key]) => !grouped.has(key.run));
  const together = members.filter(([key]) => grouped.has(key.run));
  const thinned = members.some(([, curve]) => curve.series.index !== null);
  const plan = makeLinePlan(alone, ask, start, stop);
  const lines = alone.map(([key, curve]) => makeLineRow(key, curve, plan));
  const maxPositions = Math.max(MIN_COLUMNS, 2 * ask.width);
  const bandPlan = { start, stop, maxPositions, center: ask.center, spread: ask.band };
  return {
    id: chart.id,
    error: null,
    runs: new Set(members.map(([key]) => key.run)).size,
    points: countPoints(chart, members),
    reduced: thinned || isReduced(members, plan),
    thinned,
    grid: lines.some((line) => line.x === null) ? makeGrid(plan) : null,
    lines: lines.filter((line) => line.points > 0),
    bands: makeBandRows(ask.groups ?? [], together, bandPlan),
  };
}

/** From where to where the chart shows its lines. */
function getXRange(
  { start, stop }: Required<ChartRequest>,
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
  ask: Required<ChartsRequest>,
  start: number,
  stop: number,
): LinePlan {
  const smoothed = ask.smoothing !== null;
  const plain = members.length > MAX_DETAILED_LINES;
  const tables = smoothed ? (plain ? 1 : 4) : 3;
  const count = Math.max(1, members.length);
  const room = Math.max(Math.floor(MAX_CELLS / (count * tables)), MIN_COLUMNS);
  const columns = Math.min(ask.width, room);
  const most = Math.max(2 * columns, Math.floor(MIN_POINTS_BUDGET / count));
  const whole = members.map(([, curve]) => Math.min(curve.x.length, most));
  const mostWhole = whole.reduce((sum, one) => sum + one, 0) > MAX_FULL_POINTS ? 0 : most;
  return {
    start,
    stop: stop > start ? stop : start + 1,
    columns,
    maxPoints: mostWhole,
    isSmoothed: smoothed,
    lineOnly: plain,
  };
}

/** Those of the log where all of a series is seen, else those that are here. */
function countPoints({ start, stop }: Required<ChartRequest>, members: readonly Member[]): number {
  const all = start === null && stop === null;
  return members.reduce(
    (sum, [, curve]) =>
      sum + (all ? curve.series.points : listRowsInRange(curve, start, stop).length),
    0,
  );
}

function isReduced(members: readonly Member[], { start, stop, maxPoints }: LinePlan): boolean {
  return members.some(([, curve]) => listRowsInRange(curve, start, stop).length > maxPoints);
}
