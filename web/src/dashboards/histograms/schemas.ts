/** What the Histograms dashboard's server half is asked and says, field for field. */

import type { Problem, JsonNumber } from '../../api/schemas';

export type HistogramAxis = 'step' | 'relative' | 'wall';

export interface HistogramChartRequest {
  readonly id: string;
  readonly tag: string;
  readonly skip: number;
  readonly start: number | null;
  readonly stop: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** What all charts of a view are asked with. */
export interface HistogramsView {
  readonly runs: readonly string[] | null;
  readonly x: HistogramAxis;
  readonly most: number;
  readonly most_runs: number;
  readonly bins: number;
  readonly percentiles: boolean;
  readonly ignore_outliers: boolean;
}

export interface HistogramSeriesRow {
  readonly run: string;
  readonly tag: string;
  readonly count: number;
  readonly index: Int32Array;
  readonly mark: Int32Array;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly x: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly counted: Float64Array;
  readonly num: Float64Array;
  readonly nan: Float64Array;
  readonly positive_infinity: Float64Array;
  readonly negative_infinity: Float64Array;
  readonly unplaced: Float64Array;
  readonly spoiled: Uint8Array;
  readonly bins: Float32Array | Float64Array | null;
  readonly percentiles: Float64Array | null;
  readonly flaws: readonly { readonly step: number; readonly what: string }[];
}

export interface HistogramChartRow {
  readonly id: string;
  readonly error: Problem | null;
  readonly runs: number;
  readonly grid: Float64Array | null;
  /** Whether numbers lie beyond the grid. */
  readonly cut: boolean;
  readonly series: readonly HistogramSeriesRow[];
}

export interface HistogramsResponse {
  readonly cursor: string;
  readonly charts: readonly HistogramChartRow[];
}

export interface HistogramTotals {
  readonly min: JsonNumber;
  readonly max: JsonNumber;
  readonly num: JsonNumber;
  readonly sum: JsonNumber;
  readonly sum_squares: JsonNumber;
  readonly nan: number;
  readonly positive_infinity: number;
  readonly negative_infinity: number;
}

/** The buckets of one histogram as logged. */
export interface BucketsResponse {
  readonly step: number;
  readonly wall_time: JsonNumber;
  readonly left: Float64Array;
  readonly right: Float64Array;
  readonly counts: Float64Array;
  readonly totals: HistogramTotals | null;
}

export type TableFormat = 'csv' | 'json' | 'parquet';
