import type { Numbers, Span, XFormat } from '../types';

/** The shares, in percent, that nine values of a histogram stand for. */
export const SHARES = [0, 6.68, 15.87, 30.85, 50, 69.15, 84.13, 93.32, 100] as const;
export const MEDIAN = 4;
/** The two of the nine values that most of the numbers lie between. */
export const MAIN = [2, 6] as const;

/** How numbers were spread, again and again: histograms on one grid, and nine values of each. */
export interface Spread {
  readonly id: string;
  readonly label: string;
  readonly colour: string;
  /** Where each histogram stands on the axis of steps; rises. */
  readonly x: Float64Array;
  /** Counts in the bins of the grid, one histogram after the other. */
  readonly rows: Numbers;
  /** One histogram's nine values after the other's; NaN where it counted nothing. */
  readonly nine: Float64Array;
}

/** Several of them on one grid, so that they can be compared. */
export interface SpreadContent {
  /** The edges of the bins. */
  readonly grid: Float64Array;
  readonly spreads: readonly Spread[];
}

/**
 * One ridge behind the other; lines over each other; counts as colours; bands between percentiles, for
 * each by itself or for all together.
 */
export type SpreadMode = 'offset' | 'overlay' | 'heat' | 'bands' | 'together';

/** What is seen of the steps and of the values; null shows all. */
export interface SpreadZoom {
  readonly steps: Span | null;
  readonly values: Span | null;
}

export interface SpreadView extends SpreadZoom {
  readonly mode: SpreadMode;
  /** What the axis of steps counts. */
  readonly format: XFormat;
  /** Counts, or with bands values, on a logarithmic scale. */
  readonly log: boolean;
  /** Whether bands that reach far for a few steps or numbers only do not decide how high a chart is. */
  readonly ignoreOutliers: boolean;
}

/** A histogram that is pointed at, and the bin of it. */
export interface SpreadSpot {
  /** Which of the spreads. */
  readonly spread: number;
  /** Which of its histograms. */
  readonly at: number;
  /** null where no value is pointed at. */
  readonly value: number | null;
}

/** True where values lie along the foot of the chart, and not along its side. */
export function isFlat(mode: SpreadMode): boolean {
  return mode === 'offset' || mode === 'overlay';
}

export function isBands(mode: SpreadMode): boolean {
  return mode === 'bands' || mode === 'together';
}
