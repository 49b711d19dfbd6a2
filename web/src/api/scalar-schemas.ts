import type { Problem, JsonNumber } from './schemas';

/** What is asked of `api/v1/scalars` and answered, field for field as in the server's Scalars. */

export type SmoothingKind = 'ema' | 'time_ema' | 'mean' | 'median' | 'gaussian';
export type BandCenter = 'mean' | 'median';
export type BandKind = 'std' | 'stderr' | 'ci95' | 'minmax';
export type BaselineMode = 'difference' | 'ratio';

export interface Smoothing {
  readonly kind: SmoothingKind;
  readonly amount: number;
}

export interface RunGroup {
  readonly key: string;
  readonly runs: readonly string[];
}

/** What all charts of the view have in common. */
export interface ChartsView {
  /** null: all. */
  readonly runs: readonly string[] | null;
  readonly x: string;
  readonly smoothing: Smoothing | null;
  readonly overwritten: boolean;
  readonly baseline: { readonly run: string; readonly mode: BaselineMode } | null;
  /** Groups are answered as bands, runs outside of them as lines. */
  readonly groups: readonly RunGroup[] | null;
  readonly center: BandCenter;
  readonly band: BandKind;
}

export interface ChartRequest {
  readonly id: string;
  readonly tags: readonly string[];
  /** Ends of what is seen, in units of the axis; null: everything. */
  readonly start: number | null;
  readonly stop: number | null;
}

export interface ChartsRequest extends ChartsView {
  readonly width: number;
  readonly charts: readonly ChartRequest[];
}

export interface PointRow {
  readonly step: number;
  readonly wall_time: JsonNumber;
  readonly x: JsonNumber;
  readonly value: JsonNumber;
  readonly smoothed: JsonNumber | null;
}

export interface NonFiniteRow {
  readonly x: JsonNumber;
  readonly step: number;
  readonly kind: 'nan' | 'inf' | '-inf';
}

type Floats = Float32Array | Float64Array;

export interface LineRow {
  readonly run: string;
  readonly tag: string;
  readonly points: number;
  readonly overwritten: number;
  /** null: the grid of the chart. */
  readonly x: Float64Array | null;
  readonly y: Floats;
  /** The values before smoothing. */
  readonly raw: Floats | null;
  readonly low: Floats | null;
  readonly high: Floats | null;
  readonly first: PointRow | null;
  readonly last: PointRow | null;
  readonly min: PointRow | null;
  readonly max: PointRow | null;
  readonly odd: readonly NonFiniteRow[];
  readonly odd_count: number;
  readonly faded: readonly { readonly x: Float64Array; readonly y: Floats }[] | null;
}

export interface BandRow {
  readonly group: string;
  readonly tag: string;
  readonly runs: number;
  readonly x: Float64Array;
  readonly center: Floats;
  readonly low: Floats;
  readonly high: Floats;
}

export interface ChartRow {
  readonly id: string;
  readonly error: Problem | null;
  /** How many of the runs have it. */
  readonly runs: number;
  readonly points: number;
  /** False: every point is in the answer. */
  readonly reduced: boolean;
  /** True where a copy of a board has left points behind, so that zooming shows no more. */
  readonly thinned?: boolean;
  readonly grid: Float64Array | null;
  readonly lines: readonly LineRow[];
  readonly bands: readonly BandRow[];
}

export interface ChartsResponse {
  readonly cursor: string;
  readonly charts: readonly ChartRow[];
}

/** The point of a series that is nearest to a place on the axis. */
export interface NearestPointRow {
  readonly run: string;
  readonly tag: string;
  readonly step: number;
  readonly wall_time: JsonNumber;
  readonly relative_s: JsonNumber;
  readonly x: JsonNumber;
  readonly value: JsonNumber;
  readonly smoothed: JsonNumber | null;
}

/** What a series does between two places on the axis. */
export interface RangeStatsRow {
  readonly run: string;
  readonly tag: string;
  readonly start: PointRow | null;
  readonly stop: PointRow | null;
  readonly min: PointRow | null;
  readonly max: PointRow | null;
  readonly mean: JsonNumber | null;
  readonly count: number;
  readonly change: JsonNumber | null;
  readonly change_ratio: JsonNumber | null;
}

export interface NearestPointsResponse {
  readonly rows: readonly NearestPointRow[];
}

export interface RangeStatsResponse {
  readonly rows: readonly RangeStatsRow[];
}

export type TableFormat = 'csv' | 'json' | 'parquet';
