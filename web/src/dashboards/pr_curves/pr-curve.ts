import type {
  ChartViewport,
  HoverPoint,
  Line,
  NumberArray,
  ReferenceLine,
} from '../../charts/types';
import { formatValue } from '../../lib/format';
import type { CurveRow } from '../../api/schemas';

/** What the two axes count: precision over recall, or true over false positives. */
export type CurveType = 'PR' | 'ROC';

/** A curve as it is drawn. */
export interface PrCurve {
  /** That of its line: the run and the tag. */
  readonly id: string;
  readonly label: string;
  /** As far as it tells the curve from those beside it. */
  readonly shortLabel: string;
  readonly color: string;
  readonly dash: readonly number[];
  readonly row: CurveRow;
}

/** What a classifier does at one threshold. */
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

/** The points of a curve, by rising threshold; null for one that cannot be drawn. */
export function getCurvePoints(
  { row }: PrCurve,
  axes: CurveType,
): { x: NumberArray; y: NumberArray } | null {
  if (!row.columns) return null;
  const { recall, precision, false_positive_rate: rate } = row.columns;
  if (axes === 'PR') return { x: recall, y: precision };
  return rate && { x: rate, y: recall };
}

/** Lines in the plane, of which x runs in any direction. */
export function makeCurveLines(curves: readonly PrCurve[], axes: CurveType): Line[] {
  return curves.flatMap((curve) => {
    const points = getCurvePoints(curve, axes);
    if (!points) return [];
    const { id, label, color, dash } = curve;
    const { x, y } = axes === 'ROC' ? withRocCorners(points) : points;
    return { id, label, color, dash, axis: 0, scatter: true, x, y };
  });
}

/** Where everything is called positive, and where nothing is. */
function withRocCorners({ x, y }: { x: NumberArray; y: NumberArray }): {
  x: NumberArray;
  y: NumberArray;
} {
  return { x: Float64Array.of(1, ...x, 0), y: Float64Array.of(1, ...y, 0) };
}

/** Where a curve is at a threshold: the one it has that is nearest. */
export function readCurveAt(curve: PrCurve, threshold: number): ThresholdReading | null {
  const { columns, counted } = curve.row;
  if (!columns) return null;
  const at = getNearestIndex(columns.threshold, threshold);
  const cell = (column: NumberArray | null): number => column?.[at] ?? NaN;
  const count = (column: NumberArray): number => (counted ? cell(column) : NaN);
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

/** Of rising numbers the place of the one that is nearest. */
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

/** The next threshold that any curve has; null past the ends. */
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
  /** Of the curve that is nearest. */
  readonly id: string;
  readonly threshold: number;
}

/**
 * The threshold at which a curve is nearest to a place in the plane, however far away. `seen` says
 * how much of each axis is on the screen, as nearness is a matter of what the eye sees.
 */
export function findNearestThreshold(
  curves: readonly PrCurve[],
  axes: CurveType,
  place: { readonly x: number; readonly y: number },
  seen: ChartViewport,
): NearestThreshold | null {
  const [across, up] = [getSpan(seen.x), getSpan(seen.y)];
  let found: NearestThreshold | null = null;
  let least = Infinity;
  for (const curve of curves) {
    const points = getCurvePoints(curve, axes);
    if (!points) continue;
    for (let at = 0; at < points.x.length; at++) {
      const dx = ((points.x[at] ?? NaN) - place.x) / across;
      const dy = ((points.y[at] ?? NaN) - place.y) / up;
      const distance = dx * dx + dy * dy;
      if (!(distance < least)) continue;
      least = distance;
      found = { id: curve.id, threshold: curve.row.columns?.threshold[at] ?? NaN };
    }
  }
  return found;
}

function getSpan([low, high]: readonly [number, number]): number {
  return high - low;
}

const F1_LEVELS = [0.2, 0.4, 0.6, 0.8];
/** Odd, so that one is in the middle. */
const CONTOUR_POINTS = 65;
const CHANCE_DASH = [4, 4];
/** Parts of positives further apart than this are not told by one line. */
const PREVALENCE_TOLERANCE = 0.01;

/** What curves are read against: levels of F1, and what guessing would give. */
export function makeGuides(
  curves: readonly PrCurve[],
  axes: CurveType,
  hasLevels: boolean,
): ReferenceLine[] {
  if (axes === 'ROC')
    return [makeChanceGuide(Float64Array.of(0, 0.5, 1), Float64Array.of(0, 0.5, 1), 1)];
  const prevalence = findSharedPrevalence(curves);
  const levels = hasLevels ? F1_LEVELS.map(makeF1Contour) : [];
  if (prevalence === null) return levels;
  return [
    ...levels,
    makeChanceGuide(Float64Array.of(0, 1), Float64Array.of(prevalence, prevalence), 0),
  ];
}

function makeChanceGuide(x: Float64Array, y: Float64Array, wordAt: number): ReferenceLine {
  return { id: 'chance', x, y, label: 'chance', labelIndex: wordAt, dash: CHANCE_DASH };
}

/**
 * Where precision and recall have the same harmonic mean: (2 r - f1) (2 p - f1) = f1². Points stand
 * as close along one axis as along the other.
 */
function makeF1Contour(f1: number): ReferenceLine {
  const end = Math.log((2 - f1) / f1);
  const at = Float64Array.from(
    { length: CONTOUR_POINTS },
    (_, place) => end * ((2 * place) / (CONTOUR_POINTS - 1) - 1),
  );
  const x = at.map((power) => (f1 * (1 + Math.exp(power))) / 2);
  const y = at.map((power) => (f1 * (1 + Math.exp(-power))) / 2);
  return {
    id: `F1 ${f1}`,
    x,
    y,
    label: `F1 ${formatValue(f1)}`,
    labelIndex: (CONTOUR_POINTS - 1) / 2,
  };
}

/** The precision of guessing, where that is the same for all curves. */
function findSharedPrevalence(curves: readonly PrCurve[]): number | null {
  const parts = curves.map(({ row }) => row.measures?.prevalence ?? NaN);
  const known = parts.filter((part) => !Number.isNaN(part));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return known.length > 0 && high - low < PREVALENCE_TOLERANCE ? (low + high) / 2 : null;
}

export interface ReadingColumn {
  readonly name: string;
  /** What the short name stands for. */
  readonly title: string;
  readonly getValue: (reading: ThresholdReading) => number;
}

const PRECISION: ReadingColumn = {
  name: 'prec',
  title: 'Precision',
  getValue: ({ precision }) => precision,
};
const RECALL: ReadingColumn = { name: 'rec', title: 'Recall', getValue: ({ recall }) => recall };
const ROC_COLUMNS: readonly ReadingColumn[] = [
  {
    name: 'FPR',
    title: 'False positive rate',
    getValue: ({ falsePositiveRate }) => falsePositiveRate,
  },
  {
    name: 'TPR',
    title: 'True positive rate, the same as recall',
    getValue: ({ recall }) => recall,
  },
];
const COUNT_COLUMNS: readonly ReadingColumn[] = [
  { name: 'F1', title: 'F1', getValue: ({ f1 }) => f1 },
  { name: 'TP', title: 'True positives', getValue: ({ truePositives }) => truePositives },
  { name: 'FP', title: 'False positives', getValue: ({ falsePositives }) => falsePositives },
  { name: 'TN', title: 'True negatives', getValue: ({ trueNegatives }) => trueNegatives },
  { name: 'FN', title: 'False negatives', getValue: ({ falseNegatives }) => falseNegatives },
];

/** What is told of a curve at a threshold. */
export function getReadingColumns(axes: CurveType): readonly ReadingColumn[] {
  return axes === 'PR' ? [PRECISION, RECALL, ...COUNT_COLUMNS] : [...ROC_COLUMNS, ...COUNT_COLUMNS];
}

export function formatReading(
  reading: ThresholdReading,
  columns: readonly ReadingColumn[],
  digits = 4,
): string[] {
  return columns.map(({ getValue }) => {
    const value = getValue(reading);
    return Number.isNaN(value) ? '–' : formatValue(value, digits);
  });
}

/** As many readings as there is room for, the nearest among them, and how many there are besides. */
export function limitReadings(
  readings: readonly ThresholdReading[],
  nearest: string | null,
  most: number,
): { rows: readonly ThresholdReading[]; more: number } {
  if (readings.length <= most) return { rows: readings, more: 0 };
  const first = readings.filter(({ id }) => id === nearest);
  const others = readings.filter(({ id }) => id !== nearest);
  const rows = [...first, ...others].slice(0, most);
  return { rows, more: readings.length - rows.length };
}
