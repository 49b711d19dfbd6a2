import type { Column } from './column';

/** The metric that sessions are judged by. */
export interface Goal {
  readonly column: Column;
  /** True where less is better. */
  readonly isLow: boolean;
}

/** The sessions among `rows` that have a number, best first. */
export function rankRows({ column, isLow }: Goal, rows: Int32Array): Int32Array {
  const { numbers } = column;
  const sign = isLow ? 1 : -1;
  return rows
    .filter((row) => Number.isFinite(numbers[row]))
    .sort((a, b) => sign * ((numbers[a] ?? 0) - (numbers[b] ?? 0)) || a - b);
}

/** The best value after each session in order of their start, and who had it. */
export interface Progress {
  readonly rows: Int32Array;
  readonly best: Float64Array;
  /** Rows that were better than all before. */
  readonly records: Int32Array;
}

export function bestSoFar(goal: Goal, start: Float64Array, rows: Int32Array): Progress {
  const { column, isLow } = goal;
  const { numbers } = column;
  const timed = rows
    .filter((row) => Number.isFinite(numbers[row]))
    .sort((a, b) => lateNaN(start[a]) - lateNaN(start[b]) || a - b);
  const best = new Float64Array(timed.length);
  const records: number[] = [];
  let top = NaN;
  timed.forEach((row, at) => {
    const value = numbers[row] ?? NaN;
    if (Number.isNaN(top) || (isLow ? value < top : value > top)) {
      top = value;
      records.push(row);
    }
    best[at] = top;
  });
  return { rows: timed, best, records: Int32Array.from(records) };
}

/** Sessions that do not say when they began come last. */
function lateNaN(time = NaN): number {
  return Number.isNaN(time) ? Number.MAX_VALUE : time;
}
