import type { Problem } from '../../api/schemas';

/** What is asked of `api/v1/hparams` and answered, field for field as in the server's half. */

/** Which point of a metric counts. */
export type Reduction = 'last' | 'min' | 'max' | 'mean' | 'step';
/** How repeats of the same settings become one row. */
export type Aggregation = 'mean' | 'median' | 'min' | 'max';

export interface SessionRows {
  /** Where in the table each row stands. */
  readonly at: Int32Array;
  readonly names: readonly string[];
  readonly labels: readonly string[];
  /** Places among `group_names`. */
  readonly groups: Int32Array;
  readonly group_names: readonly string[];
  /** How many sessions are in each row. */
  readonly counts: Int32Array;
  /** Of rows that join sessions. */
  readonly sessions: readonly (readonly string[])[] | null;
  readonly status: Uint8Array;
  /** Seconds since 1970; NaN where they are not known. */
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly last: Float64Array;
}

export interface HParamCells {
  readonly name: string;
  readonly key: string;
  readonly label: string;
  readonly description: string;
  readonly type: 'number' | 'bool' | 'string' | 'mixed';
  readonly differs: boolean;
  readonly words: readonly string[];
  readonly values: Float64Array;
  /** What each value is; null: all are numbers. */
  readonly states: Uint8Array | null;
}

export interface MetricCells {
  readonly key: string;
  readonly group: string;
  readonly tag: string;
  readonly label: string;
  readonly description: string;
  /** Whether somebody said that it is a metric of the search. */
  readonly declared: boolean;
  readonly goal: 'min' | 'max';
  readonly values: Float64Array;
  /** NaN where a session lacks the metric. */
  readonly steps: Float64Array;
  /** Standard deviation over repeats, where these are one row. */
  readonly deviation: Float64Array | null;
}

export interface SessionsResponse {
  readonly revision: string | number;
  /** The revision that this is added to; null: this is everything. */
  readonly base: string | number | null;
  readonly rows: SessionRows;
  readonly hparams: readonly HParamCells[];
  readonly metrics: readonly MetricCells[];
  /** What could not be shown, in sentences. */
  readonly notes: readonly string[];
  /** How many sessions have the settings of an earlier one. */
  readonly repeats: number;
}

export interface ImportanceBar {
  readonly name: string;
  /** Its share of all. */
  readonly importance: number;
  readonly deviation: number;
  /** Better with lower (−1) or higher (1) values. */
  readonly direction: -1 | 0 | 1;
  /** Where it is best, in words. */
  readonly best: string | null;
}

export interface ImportanceResponse {
  readonly metric: string;
  readonly sentence: string;
  readonly trust: {
    readonly level: 'good' | 'fair' | 'poor' | 'none';
    readonly r2: number;
    readonly sessions: number;
    readonly sentence: string;
  };
  readonly bars: readonly ImportanceBar[];
  readonly pairs: readonly {
    readonly first: string;
    readonly second: string;
    readonly importance: number;
  }[];
  readonly problem: Problem | null;
}

export interface SparklinesResponse {
  readonly lines: readonly {
    readonly session: string;
    readonly x: Float32Array;
    readonly y: Float32Array;
  }[];
}
