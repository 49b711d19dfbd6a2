/** PR and ROC curves: lines, guides, and the values of a classifier at a threshold. */
import type { CurveRow } from '../../api/schemas';
import { type ExportTable, type LogRoot, openLogLines, quotePython } from '../../cards/export';
import * as common from '../../catalog/common';
import * as m from '../../catalog/pr_curves';
import { makeDiagonal } from '../../charts/evaluation/plot-lines';
import type {
  ChartViewport,
  HoverPoint,
  Line,
  NumberArray,
  ReferenceLine,
} from '../../charts/types';
import { formatValue } from '../../lib/format';

/** Precision over recall, or true positive rate over false positive rate. */
export type CurveType = 'PR' | 'ROC';

export interface PrCurve {
  /** The run and the tag, see `makeSeriesId`. */
  readonly id: string;
  readonly label: string;
  /** Without the folder that all curves of the card share. */
  readonly shortLabel: string;
  readonly color: string;
  readonly dash: readonly number[];
  readonly row: CurveRow;
}

/** The values of a curve at one threshold. */
export interface ThresholdReading {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly threshold: number;
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly trueNegatives: number;
  readonly falseNegatives: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly falsePositiveRate: number;
}

export function makeSeriesId({ run, tag }: { readonly run: string; readonly tag: string }): string {
  return `${run}\n${tag}`;
}

export function getSeriesRun(id: string): string {
  return id.slice(0, id.indexOf('\n'));
}

/** Return the points of a curve in order of thresholds; null if it cannot be drawn. */
function getCurvePoints(
  { row }: PrCurve,
  axes: CurveType,
): { x: NumberArray; y: NumberArray } | null {
  if (!row.columns) return null;
  const { recall, precision, false_positive_rate: rate } = row.columns;
  if (axes === 'PR') return { x: recall, y: precision };
  return rate && { x: rate, y: recall };
}

export function makeCurveLines(curves: readonly PrCurve[], axes: CurveType): Line[] {
  return curves.flatMap((curve) => {
    const points = getCurvePoints(curve, axes);
    if (!points) return [];
    const { id, label, color, dash } = curve;
    const { x, y } = axes === 'ROC' ? withRocCorners(points) : points;
    return { id, label, color, dash, axis: 0, scatter: true, x, y };
  });
}

/** Add the points at which everything and nothing is classified as positive. */
function withRocCorners({ x, y }: { x: NumberArray; y: NumberArray }): {
  x: NumberArray;
  y: NumberArray;
} {
  return { x: Float64Array.of(1, ...x, 0), y: Float64Array.of(1, ...y, 0) };
}

/** Return the values of a curve at its threshold nearest to the given one. */
export function readCurveAt(curve: PrCurve, threshold: number): ThresholdReading | null {
  const { columns, has_counts } = curve.row;
  if (!columns) return null;
  const index = getNearestIndex(columns.threshold, threshold);
  const cell = (column: NumberArray | null): number => column?.[index] ?? NaN;
  const count = (column: NumberArray): number => (has_counts ? cell(column) : NaN);
  const { id, shortLabel, color } = curve;
  return {
    id,
    label: shortLabel,
    color,
    threshold: cell(columns.threshold),
    truePositives: count(columns.true_positives),
    falsePositives: count(columns.false_positives),
    trueNegatives: count(columns.true_negatives),
    falseNegatives: count(columns.false_negatives),
    precision: cell(columns.precision),
    recall: cell(columns.recall),
    f1: cell(columns.f1),
    falsePositiveRate: cell(columns.false_positive_rate),
  };
}

export function makeMarker(reading: ThresholdReading, axes: CurveType): HoverPoint | null {
  const { color, precision, recall, falsePositiveRate } = reading;
  const [x, y] = axes === 'PR' ? [recall, precision] : [falsePositiveRate, recall];
  return Number.isFinite(x) && Number.isFinite(y) ? { x, y, color } : null;
}

/** Return the index of the nearest of some increasing numbers. */
export function getNearestIndex(column: NumberArray, value: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) < value) low = middle + 1;
    else high = middle;
  }
  const isBefore = value - (column[low - 1] ?? -Infinity) <= (column[low] ?? Infinity) - value;
  return isBefore ? Math.max(0, low - 1) : low;
}

/** Return the next threshold of any curve; null after the last. */
export function findNextThreshold(
  curves: readonly PrCurve[],
  threshold: number,
  direction: 1 | -1,
): number | null {
  let best: number | null = null;
  for (const { row } of curves) {
    for (const other of row.columns?.threshold ?? []) {
      const isBeyond = direction > 0 ? other > threshold : other < threshold;
      if (!isBeyond) continue;
      if (best === null || (direction > 0 ? other < best : other > best)) best = other;
    }
  }
  return best;
}

export interface NearestThreshold {
  /** Id of the nearest curve. */
  readonly id: string;
  readonly threshold: number;
}

/** Find the point nearest to a position. Distances are relative to the visible range of the axes. */
export function findNearestThreshold(
  curves: readonly PrCurve[],
  axes: CurveType,
  position: { readonly x: number; readonly y: number },
  visible: ChartViewport,
): NearestThreshold | null {
  const [width, height] = [getSpan(visible.x), getSpan(visible.y)];
  let nearest: NearestThreshold | null = null;
  let minDistance = Infinity;
  for (const curve of curves) {
    const points = getCurvePoints(curve, axes);
    if (!points) continue;
    for (let index = 0; index < points.x.length; index++) {
      const dx = ((points.x[index] ?? NaN) - position.x) / width;
      const dy = ((points.y[index] ?? NaN) - position.y) / height;
      const distance = dx * dx + dy * dy;
      if (!(distance < minDistance)) continue;
      minDistance = distance;
      nearest = { id: curve.id, threshold: curve.row.columns?.threshold[index] ?? NaN };
    }
  }
  return nearest;
}

function getSpan([low, high]: readonly [number, number]): number {
  return high - low;
}

const F1_LEVELS = [0.2, 0.4, 0.6, 0.8];
/** Odd, so that the label is at the middle point. */
const CONTOUR_POINTS = 65;
const CHANCE_DASH = [4, 4];
/** Curves whose shares of positives differ by more have no common chance level. */
const PREVALENCE_TOLERANCE = 0.01;

/** Return reference lines: F1 contours and the chance level. */
export function makeGuides(
  curves: readonly PrCurve[],
  axes: CurveType,
  showF1Contours: boolean,
): ReferenceLine[] {
  if (axes === 'ROC') return makeDiagonal(m.chance);
  const prevalence = findSharedPrevalence(curves);
  const contours = showF1Contours ? F1_LEVELS.map(makeF1Contour) : [];
  if (prevalence === null) return contours;
  return [
    ...contours,
    makeChanceGuide(Float64Array.of(0, 1), Float64Array.of(prevalence, prevalence), 0),
  ];
}

function makeChanceGuide(x: Float64Array, y: Float64Array, labelIndex: number): ReferenceLine {
  return { id: 'chance', x, y, label: m.chance, labelIndex, dash: CHANCE_DASH };
}

/**
 * Return the line on which the harmonic mean of precision and recall is constant:
 * (2 r - f1) (2 p - f1) = f1². Points are equally dense along both axes.
 */
function makeF1Contour(f1: number): ReferenceLine {
  const end = Math.log((2 - f1) / f1);
  const powers = Float64Array.from(
    { length: CONTOUR_POINTS },
    (_, index) => end * ((2 * index) / (CONTOUR_POINTS - 1) - 1),
  );
  const x = powers.map((power) => (f1 * (1 + Math.exp(power))) / 2);
  const y = powers.map((power) => (f1 * (1 + Math.exp(-power))) / 2);
  return {
    id: `f1-${f1}`,
    x,
    y,
    label: m.f1Value({ value: formatValue(f1) }),
    labelIndex: (CONTOUR_POINTS - 1) / 2,
  };
}

/** Return the precision of random guessing if it is the same for all curves. */
function findSharedPrevalence(curves: readonly PrCurve[]): number | null {
  const known = curves.flatMap(({ row }) => row.measures?.prevalence ?? []);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return known.length > 0 && high - low < PREVALENCE_TOLERANCE ? (low + high) / 2 : null;
}

export interface ReadingColumn {
  readonly name: string;
  /** The full name. */
  readonly title: string;
  readonly getValue: (reading: ThresholdReading) => number;
}

const PRECISION: ReadingColumn = {
  name: m.columnPrecisionShort,
  title: m.precision,
  getValue: ({ precision }) => precision,
};
const RECALL: ReadingColumn = { name: m.recall, title: m.recall, getValue: ({ recall }) => recall };
const ROC_COLUMNS: readonly ReadingColumn[] = [
  {
    name: m.columnFprShort,
    title: m.falsePositiveRate,
    getValue: ({ falsePositiveRate }) => falsePositiveRate,
  },
  {
    name: m.columnTprShort,
    title: m.truePositiveRateTooltip,
    getValue: ({ recall }) => recall,
  },
];
const COUNT_COLUMNS: readonly ReadingColumn[] = [
  { name: m.f1, title: m.f1, getValue: ({ f1 }) => f1 },
  { name: m.columnTpShort, title: m.truePositives, getValue: ({ truePositives }) => truePositives },
  {
    name: m.columnFpShort,
    title: m.falsePositives,
    getValue: ({ falsePositives }) => falsePositives,
  },
  { name: m.columnTnShort, title: m.trueNegatives, getValue: ({ trueNegatives }) => trueNegatives },
  {
    name: m.columnFnShort,
    title: m.falseNegatives,
    getValue: ({ falseNegatives }) => falseNegatives,
  },
];

/** Return the columns of tables and tooltips. */
export function getReadingColumns(axes: CurveType): readonly ReadingColumn[] {
  return axes === 'PR' ? [PRECISION, RECALL, ...COUNT_COLUMNS] : [...ROC_COLUMNS, ...COUNT_COLUMNS];
}

export function formatReading(
  reading: ThresholdReading,
  columns: readonly ReadingColumn[],
): string[] {
  return columns.map(({ getValue }) => formatReadingValue(getValue(reading)));
}

export function formatReadingValue(value: number, digits = 4): string {
  return Number.isNaN(value) ? common.noValueSymbol : formatValue(value, digits);
}

/** Return at most `maxRows` readings, including the nearest, and the number of the others. */
export function limitReadings(
  readings: readonly ThresholdReading[],
  nearest: string | null,
  maxRows: number,
): { rows: readonly ThresholdReading[]; more: number } {
  if (readings.length <= maxRows) return { rows: readings, more: 0 };
  const first = readings.filter(({ id }) => id === nearest);
  const others = readings.filter(({ id }) => id !== nearest);
  const rows = [...first, ...others].slice(0, maxRows);
  return { rows, more: readings.length - rows.length };
}

const NUMBER_COLUMNS = [
  'threshold',
  'true_positives',
  'false_positives',
  'true_negatives',
  'false_negatives',
  'precision',
  'recall',
  'f1',
  'false_positive_rate',
] as const;

/** Return one row per curve and threshold; null where a value is undefined. */
export function makeCurvesTable(curves: readonly PrCurve[]): ExportTable {
  const rows = curves.flatMap(({ row }) => {
    const { run, tag, step, columns } = row;
    if (!columns) return [];
    return Array.from(columns.threshold, (_, index) => {
      const cells = NUMBER_COLUMNS.map((name) => finiteOrNull(columns[name]?.[index]));
      return [run, tag, step, ...cells];
    });
  });
  return { columns: ['run', 'tag', 'step', ...NUMBER_COLUMNS], rows };
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

interface PythonOptions {
  readonly roots: readonly LogRoot[];
  readonly series: readonly { readonly run: string; readonly tag: string }[];
  /** null is the last step. */
  readonly step: number | null;
}

/** Return Python code that reads the curves of a card. */
export function makeCurvesPythonCode({ roots, series, step }: PythonOptions): string {
  const selectCurve =
    step === null
      ? ['    curve = curves[-1]']
      : [`    curve = curves[(curves.step <= ${step}).nonzero()[0][-1]]  ${m.pythonLastUntil}`];
  return [
    ...openLogLines(roots),
    'for run, tag in [',
    ...series.map(({ run, tag }) => `    (${quotePython(run)}, ${quotePython(tag)}),`),
    ']:',
    '    curves = log.tensors(run, tag)',
    ...selectCurve,
    '    true_positives, false_positives, true_negatives, false_negatives = curve[:4]',
    `    precision, recall = curve[4:]  ${m.pythonThresholds}`,
    '',
  ].join('\n');
}
