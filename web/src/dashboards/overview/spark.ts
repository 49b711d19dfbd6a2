import { readNumber } from '../../api/numbers';
import type { ChartAnswer, LineAnswer } from '../../api/scalars';
import type { SparkLine } from '../../charts/sparkline';
import type { ShownRun } from '../../plugin/context';

/** One run's line on columns that all lines of its chart share, and the value it ends with. */
export interface Spark extends SparkLine {
  readonly run: string;
  readonly end: number | null;
}

type Cells = (number | null)[];

export const COLUMNS = 120;

/** The lines of the runs that have the tag, in the order of the runs. */
export function readSparks(chart: ChartAnswer, runs: readonly ShownRun[]): Spark[] {
  const lines = new Map(chart.lines.map((line) => [line.run, line]));
  const columnOf = columnsOver(chart);
  return runs.flatMap((run) => {
    const line = lines.get(run.name);
    return line ? [readSpark(line, run, columnOf, chart.grid)] : [];
  });
}

function readSpark(
  line: LineAnswer,
  run: ShownRun,
  columnOf: (x: number) => number,
  grid: Float64Array | null,
): Spark {
  const [low, high, last]: [Cells, Cells, Cells] = [blank(), blank(), blank()];
  (line.x ?? grid ?? []).forEach((x, at) => {
    const column = columnOf(x);
    const value = line.y[at] ?? NaN;
    if (!Number.isFinite(value)) return;
    last[column] = value;
    low[column] = Math.min(low[column] ?? Infinity, line.low?.[at] ?? value);
    high[column] = Math.max(high[column] ?? -Infinity, line.high?.[at] ?? value);
  });
  const { colour, name } = run;
  const end = readNumber(line.last?.value);
  return { run: name, colour, dashed: run.dash.length > 0, low, high, last, end };
}

/** The column of an x, over all lines of the chart. */
function columnsOver(chart: ChartAnswer): (x: number) => number {
  let [first, last] = [Infinity, -Infinity];
  for (const line of chart.lines) {
    const xs = line.x ?? chart.grid;
    first = Math.min(first, xs?.[0] ?? Infinity);
    last = Math.max(last, xs?.at(-1) ?? -Infinity);
  }
  const span = last - first;
  return (x) => (span > 0 ? Math.round(((x - first) / span) * (COLUMNS - 1)) : COLUMNS >> 1);
}

function blank(): Cells {
  return new Array<number | null>(COLUMNS).fill(null);
}
