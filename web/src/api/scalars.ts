import type { Problem, WireNumber } from './types';

/** What is asked of `api/v1/scalars` and answered, field for field as in the server's Scalars. */

export type Smoother = 'ema' | 'time_ema' | 'mean' | 'median' | 'gaussian';
export type Center = 'mean' | 'median';
export type Spread = 'std' | 'stderr' | 'ci95' | 'minmax';
export type Comparison = 'difference' | 'ratio';

export interface Smoothing {
  readonly kind: Smoother;
  readonly amount: number;
}

export interface GroupAsk {
  readonly key: string;
  readonly runs: readonly string[];
}

/** What all charts of the view have in common. */
export interface ViewAsk {
  /** null: all. */
  readonly runs: readonly string[] | null;
  readonly x: string;
  readonly smoothing: Smoothing | null;
  readonly overwritten: boolean;
  readonly baseline: { readonly run: string; readonly mode: Comparison } | null;
  /** Groups are answered as bands, runs outside of them as lines. */
  readonly groups: readonly GroupAsk[] | null;
  readonly center: Center;
  readonly band: Spread;
}

export interface ChartAsk {
  readonly id: string;
  readonly tags: readonly string[];
  /** Ends of what is seen, in units of the axis; null: everything. */
  readonly start: number | null;
  readonly stop: number | null;
}

export interface QueryAsk extends ViewAsk {
  readonly width: number;
  readonly charts: readonly ChartAsk[];
}

export interface WirePoint {
  readonly step: number;
  readonly wall_time: WireNumber;
  readonly x: WireNumber;
  readonly value: WireNumber;
  readonly smoothed: WireNumber | null;
}

export interface OddPoint {
  readonly x: WireNumber;
  readonly step: number;
  readonly kind: 'nan' | 'inf' | '-inf';
}

type Floats = Float32Array | Float64Array;

export interface LineAnswer {
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
  readonly first: WirePoint | null;
  readonly last: WirePoint | null;
  readonly min: WirePoint | null;
  readonly max: WirePoint | null;
  readonly odd: readonly OddPoint[];
  readonly odd_count: number;
  readonly faded: readonly { readonly x: Float64Array; readonly y: Floats }[] | null;
}

export interface BandAnswer {
  readonly group: string;
  readonly tag: string;
  readonly runs: number;
  readonly x: Float64Array;
  readonly center: Floats;
  readonly low: Floats;
  readonly high: Floats;
}

export interface ChartAnswer {
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
  readonly lines: readonly LineAnswer[];
  readonly bands: readonly BandAnswer[];
}

export interface QueryAnswer {
  readonly cursor: string;
  readonly charts: readonly ChartAnswer[];
}

/** The point of a series that is nearest to a place on the axis. */
export interface AtRow {
  readonly run: string;
  readonly tag: string;
  readonly step: number;
  readonly wall_time: WireNumber;
  readonly relative_s: WireNumber;
  readonly x: WireNumber;
  readonly value: WireNumber;
  readonly smoothed: WireNumber | null;
}

/** What a series does between two places on the axis. */
export interface RangeRow {
  readonly run: string;
  readonly tag: string;
  readonly start: WirePoint | null;
  readonly stop: WirePoint | null;
  readonly min: WirePoint | null;
  readonly max: WirePoint | null;
  readonly mean: WireNumber | null;
  readonly count: number;
  readonly change: WireNumber | null;
  readonly change_ratio: WireNumber | null;
}

export interface AtAnswer {
  readonly rows: readonly AtRow[];
}

export interface RangeAnswer {
  readonly rows: readonly RangeRow[];
}

export type TableFormat = 'csv' | 'json' | 'parquet';
