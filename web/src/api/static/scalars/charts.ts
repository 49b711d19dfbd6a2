import type { ChartAnswer, ChartAsk, QueryAsk } from '../../scalars';
import { drawBands } from './bands';
import { type Curve, findRows } from './curve';
import { drawLine, makeGrid, type Plan } from './line';
import type { Key } from './series';

type Member = readonly [Key, Curve];

/** A chart with more lines has no room for what surrounds each of them. */
const MANY_LINES = 100;
const MOST_CELLS = 380_000;
const FEWEST_COLUMNS = 100;
const MOST_WHOLE = 300_000;
const FEW_POINTS = 2000;

/** A chart of some curves, as the server would draw it out of the same points. */
export function drawChart(chart: ChartAsk, ask: QueryAsk, members: readonly Member[]): ChartAnswer {
  const [start, stop] = findEnds(chart, members);
  const grouped = new Set((ask.groups ?? []).flatMap((group) => group.runs));
  const alone = members.filter(([key]) => !grouped.has(key.run));
  const together = members.filter(([key]) => grouped.has(key.run));
  const thinned = members.some(([, curve]) => curve.series.index !== null);
  const plan = makePlan(alone, ask, start, stop);
  const lines = alone.map(([key, curve]) => drawLine(key, curve, plan));
  const places = Math.max(FEWEST_COLUMNS, 2 * ask.width);
  const bandPlan = { start, stop, places, center: ask.center, spread: ask.band };
  return {
    id: chart.id,
    error: null,
    runs: new Set(members.map(([key]) => key.run)).size,
    points: countPoints(chart, members),
    reduced: thinned || isReduced(members, plan),
    thinned,
    grid: lines.some((line) => line.x === null) ? makeGrid(plan) : null,
    lines: lines.filter((line) => line.points > 0),
    bands: drawBands(ask.groups ?? [], together, bandPlan),
  };
}

/** From where to where the chart shows its lines. */
function findEnds({ start, stop }: ChartAsk, members: readonly Member[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const [, curve] of members) {
    for (const row of findRows(curve, start, stop)) {
      low = Math.min(low, curve.x[row] ?? NaN);
      high = Math.max(high, curve.x[row] ?? NaN);
    }
  }
  if (low > high) [low, high] = [0, 1];
  return [start ?? low, stop ?? high];
}

function makePlan(members: readonly Member[], ask: QueryAsk, start: number, stop: number): Plan {
  const smoothed = ask.smoothing !== null;
  const plain = members.length > MANY_LINES;
  const tables = smoothed ? (plain ? 1 : 4) : 3;
  const count = Math.max(1, members.length);
  const room = Math.max(Math.floor(MOST_CELLS / (count * tables)), FEWEST_COLUMNS);
  const columns = Math.min(ask.width, room);
  const most = Math.max(2 * columns, Math.floor(FEW_POINTS / count));
  const whole = members.map(([, curve]) => Math.min(curve.x.length, most));
  const mostWhole = whole.reduce((sum, one) => sum + one, 0) > MOST_WHOLE ? 0 : most;
  return { start, stop: stop > start ? stop : start + 1, columns, mostWhole, smoothed, plain };
}

/** Those of the log where all of a series is seen, else those that are here. */
function countPoints({ start, stop }: ChartAsk, members: readonly Member[]): number {
  const all = start === null && stop === null;
  return members.reduce(
    (sum, [, curve]) => sum + (all ? curve.series.points : findRows(curve, start, stop).length),
    0,
  );
}

function isReduced(members: readonly Member[], { start, stop, mostWhole }: Plan): boolean {
  return members.some(([, curve]) => findRows(curve, start, stop).length > mostWhole);
}
