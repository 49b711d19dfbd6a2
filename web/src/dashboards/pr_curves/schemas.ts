/** What the server half of the PR curves dashboard answers. */

import type { Problem } from '../../api/schemas';

type Numbers = Float32Array | Float64Array;

/** What a whole curve comes to; null where that is not defined. */
export interface MeasuresRow {
  /** Precision added up over the steps of recall. */
  readonly average_precision: number | null;
  /** Below straight lines from point to point. */
  readonly area: number | null;
  readonly roc_area: number | null;
  readonly best_f1: number | null;
  readonly best_threshold: number | null;
  /** The part of examples that is positive. */
  readonly prevalence: number | null;
}

/** One cell for each threshold; NaN where something is not defined. */
export interface ColumnsRow {
  readonly threshold: Numbers;
  readonly true_positives: Numbers;
  readonly false_positives: Numbers;
  readonly true_negatives: Numbers;
  readonly false_negatives: Numbers;
  readonly precision: Numbers;
  readonly recall: Numbers;
  readonly f1: Numbers;
  /** null where the counts do not tell it. */
  readonly false_positive_rate: Numbers | null;
}

/** The curve of one run and tag at one step. */
export interface CurveRow {
  readonly run: string;
  readonly tag: string;
  readonly index: number;
  readonly mark: number;
  readonly step: number;
  readonly wall_time: number | string;
  readonly error: Problem | null;
  /** How many were logged; where there are too many, only some are in the columns. */
  readonly thresholds: number;
  /** False where only precision and recall were logged. */
  readonly counted: boolean;
  readonly measures: MeasuresRow | null;
  readonly columns: ColumnsRow | null;
}

export interface CurvesResponse {
  readonly curves: readonly CurveRow[];
}

/** One run and tag over its steps; NaN where something is not defined. */
export interface HistoryRow {
  readonly run: string;
  readonly tag: string;
  /** How many there are; where they are many, only some are in the columns. */
  readonly steps: number;
  readonly step: Float64Array;
  readonly average_precision: Float64Array;
  readonly area: Float64Array;
  readonly roc_area: Float64Array;
  readonly best_f1: Float64Array;
}

export interface HistoryResponse {
  readonly series: readonly HistoryRow[];
}
