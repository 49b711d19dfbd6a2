/** Lines of ROC, precision-recall and calibration curves and of score distributions. */
import type { Line, ReferenceLine } from '../types';

export const PLOT_KINDS = ['roc', 'pr', 'calibration', 'distribution'] as const;

export type PlotKind = (typeof PLOT_KINDS)[number];

/** The curves of one slice or model. */
export interface EvaluationCurves {
  readonly slice: number;
  readonly output: string;
  readonly false_positive_rate: Float64Array;
  readonly true_positive_rate: Float64Array;
  readonly recall: Float64Array;
  readonly precision: Float64Array;
  readonly mean_score: Float64Array;
  readonly positive_share: Float64Array;
  readonly calibration_weight: Float64Array;
  readonly distribution_edges: Float64Array;
  readonly negative: Float64Array;
  readonly positive: Float64Array;
}

export interface PlotStyle {
  readonly label: string;
  readonly color: string;
}

const DIAGONAL = Float64Array.of(0, 1);
/** Below the middle of the diagonal, clear of the line and of the corners. */
const DIAGONAL_LABEL = { x: Float64Array.of(0.55, 0.55), y: Float64Array.of(0.42, 0.42) };
const MAX_BINS = 20;
const POSITIVE_DASH = [5, 3];

/** Return the lines of one slice: two for the distribution, for negative and positive labels. */
export function makePlotLines(
  kind: PlotKind,
  plot: EvaluationCurves,
  { label, color }: PlotStyle,
  names: { readonly negative: string; readonly positive: string },
): Line[] {
  const id = `${plot.slice} ${plot.output}`;
  const base = { id, label, color, dash: [], axis: 0, scatter: true } as const;
  if (kind === 'roc') return [{ ...base, x: plot.false_positive_rate, y: plot.true_positive_rate }];
  if (kind === 'pr') return [{ ...base, x: plot.recall, y: plot.precision }];
  if (kind === 'calibration') {
    const known = [...plot.mean_score.keys()].filter(
      (at) => (plot.calibration_weight[at] ?? 0) > 0,
    );
    return [
      {
        ...base,
        x: Float64Array.from(known, (at) => plot.mean_score[at] ?? NaN),
        y: Float64Array.from(known, (at) => plot.positive_share[at] ?? NaN),
      },
    ];
  }
  return [
    {
      ...base,
      ...makeSteps(...mergeBins(plot.distribution_edges, plot.negative)),
      label: names.negative,
    },
    {
      ...base,
      ...makeSteps(...mergeBins(plot.distribution_edges, plot.positive)),
      id: `${id} positive`,
      label: names.positive,
      dash: POSITIVE_DASH,
    },
  ];
}

/** Merge neighboring bins, so that small slices do not look like noise. */
export function mergeBins(
  edges: Float64Array,
  weights: Float64Array,
): [edges: Float64Array, weights: Float64Array] {
  const size = Math.ceil(weights.length / MAX_BINS);
  const count = Math.ceil(weights.length / size) || 0;
  const merged = new Float64Array(count);
  weights.forEach((weight, at) => {
    const bin = Math.floor(at / size);
    merged[bin] = (merged[bin] ?? 0) + weight;
  });
  const kept = Float64Array.from({ length: count + 1 }, (_, bin) => {
    return edges[Math.min(bin * size, weights.length)] ?? NaN;
  });
  return [kept, merged];
}

/** Return the outline of a histogram of shares, so that slices of any size can be compared. */
export function makeSteps(
  edges: Float64Array,
  weights: Float64Array,
): { x: Float64Array; y: Float64Array } {
  const total = weights.reduce((sum, value) => sum + value, 0) || 1;
  const points = [...weights].flatMap((weight, at) => [
    [edges[at] ?? NaN, weight / total],
    [edges[at + 1] ?? NaN, weight / total],
  ]);
  return {
    x: Float64Array.from(points, ([x]) => x ?? NaN),
    y: Float64Array.from(points, ([, y]) => y ?? NaN),
  };
}

/** Return the line of chance (ROC) or of perfect calibration. */
export function makePlotReference(kind: PlotKind, label: string): ReferenceLine[] {
  if (kind !== 'roc' && kind !== 'calibration') return [];
  return makeDiagonal(label);
}

/** Return the diagonal and, as a line without length, the place of its label. */
export function makeDiagonal(label: string): ReferenceLine[] {
  return [
    { id: 'diagonal', x: DIAGONAL, y: DIAGONAL, label: '', dash: [3, 3] },
    { id: 'diagonal label', ...DIAGONAL_LABEL, label, labelIndex: 0 },
  ];
}
