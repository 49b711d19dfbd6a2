import type { CurveRow } from '../../api/schemas';
import type { PrCurve } from './pr-curve';

/** A curve for tests: three thresholds, of which nothing is called positive at the last. */
export function makeTestCurve(run: string, more: Partial<CurveRow> = {}): PrCurve {
  const row: CurveRow = {
    run,
    tag: 'pr/cat',
    index: 0,
    mark: 7,
    step: 10,
    wall_time: 1.7e9,
    error: null,
    thresholds: 3,
    counted: true,
    measures: {
      average_precision: 0.75,
      area: 0.8,
      roc_area: 0.9,
      best_f1: 0.8,
      best_threshold: 0,
      prevalence: 0.5,
    },
    columns: {
      threshold: Float64Array.of(0, 0.5, 1),
      true_positives: Float32Array.of(2, 1, 0),
      false_positives: Float32Array.of(2, 0, 0),
      true_negatives: Float32Array.of(0, 2, 2),
      false_negatives: Float32Array.of(0, 1, 2),
      precision: Float32Array.of(0.5, 1, NaN),
      recall: Float32Array.of(1, 0.5, 0),
      f1: Float64Array.of(2 / 3, 2 / 3, 0),
      false_positive_rate: Float64Array.of(1, 0, 0),
    },
    ...more,
  };
  return { id: `${run}\n${row.tag}`, label: run, shortLabel: run, color: '#4269d0', dash: [], row };
}
