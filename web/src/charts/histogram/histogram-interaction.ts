import { formatPlural, formatValue } from '../../lib/format';
import type { PlotLayout } from '../axes/plot-layout';
import { formatAxisValue } from '../axes/ticks';
import { getAxesAt, getDragAxes, panBy, zoomAround, type ZoomAxes, zoomToRect } from '../axes/zoom';
import type { Point } from '../renderer/renderer';
import type { ChartViewport } from '../types';
import {
  hasHorizontalValues,
  type HistogramData,
  type HistogramMode,
  type HistogramPoint,
  type HistogramSeries,
  type HistogramViewOptions,
  type HistogramViewport,
  isPercentileMode,
  MEDIAN_INDEX,
} from './histogram-model';
import { toCountAxis, traceRidge } from './histogram-renderer';
import type { Panel, PanelLayout } from './panel-layout';

/** How near to a line a pointer has to be to mean it, in pixels. */
const LINE_REACH_PX = 60;

/** The panel under a point, or the one that is nearest to it. */
export function findPanelAt({ panels }: PanelLayout, { x, y }: Point): Panel | undefined {
  let best: Panel | undefined;
  let least = Infinity;
  for (const panel of panels) {
    const { left, top, width, height } = panel.layout.plotArea;
    const dx = Math.max(left - x, 0, x - left - width);
    const dy = Math.max(top - y, 0, y - top - height);
    if (dx + dy < least) [best, least] = [panel, dx + dy];
  }
  return best;
}

/** What is under a point of a chart. */
export function findPointAt(
  content: HistogramData,
  set: PanelLayout,
  mode: HistogramMode,
  point: Point,
): HistogramPoint | null {
  const panel = findPanelAt(set, point);
  if (!panel || panel.seriesIndexes.length === 0) return null;
  const { layout } = panel;
  const value = (hasHorizontalValues(mode) ? layout.x : layout.y).scale.toValue(
    hasHorizontalValues(mode) ? point.x : point.y,
  );
  if (isPercentileMode(mode)) return findPercentilePoint(content, panel, point, value);
  const [number = 0] = panel.seriesIndexes;
  const spread = content.series[number];
  if (!spread) return null;
  const at =
    mode === 'offset'
      ? findRidgeIndex(content, set, panel, spread, point)
      : mode === 'overlay'
        ? findLineIndex(content, set, panel, spread, point)
        : findNearestStepIndex(spread.x, layout.x.scale.toValue(point.x));
  return at < 0 ? null : { seriesIndex: number, index: at, value };
}

/** Of several runs the one whose median is nearest. */
function findPercentilePoint(
  { series }: HistogramData,
  { seriesIndexes: shown, layout }: Panel,
  point: Point,
  value: number,
): HistogramPoint | null {
  const place = layout.x.scale.toValue(point.x);
  let best: HistogramPoint | null = null;
  let least = Infinity;
  for (const number of shown) {
    const { x, percentiles } = series[number] ?? EMPTY_SERIES;
    const at = findNearestStepIndex(x, place);
    if (at < 0) continue;
    const median = layout.y.scale.toPixel(percentiles[at * 9 + MEDIAN_INDEX] ?? NaN);
    const far = Number.isNaN(median) ? 1e9 : Math.abs(median - point.y);
    if (far < least) [best, least] = [{ seriesIndex: number, index: at, value }, far];
  }
  return best;
}

const EMPTY_SERIES: Pick<HistogramSeries, 'x' | 'percentiles'> = {
  x: new Float64Array(),
  percentiles: new Float64Array(),
};

/** The ridge in front whose colour is under the point; else the one whose foot is nearest. */
function findRidgeIndex(
  { binEdges }: HistogramData,
  { extents }: PanelLayout,
  { layout }: Panel,
  spread: HistogramSeries,
  { x, y }: Point,
): number {
  const bin = getBinIndex(binEdges, layout.x.scale.toValue(x));
  let nearest = -1;
  let least = Infinity;
  for (let at = spread.x.length - 1; at >= 0; at--) {
    const place = spread.x[at] ?? 0;
    if (place < extents.steps[0] || place > extents.steps[1]) continue;
    const { low, high } = traceRidge(spread, at, binEdges, layout, extents);
    const [foot, crest] = [low[bin + 1] ?? 0, high[bin + 1] ?? 0];
    if (y <= foot && y >= crest - 1 && foot - crest > 0.5) return at;
    const far = Math.abs(foot - y);
    if (far < least) [nearest, least] = [at, far];
  }
  return nearest;
}

function findLineIndex(
  { binEdges }: HistogramData,
  { extents }: PanelLayout,
  { layout }: Panel,
  spread: HistogramSeries,
  { x, y }: Point,
): number {
  const bins = binEdges.length - 1;
  const bin = getBinIndex(binEdges, layout.x.scale.toValue(x));
  let nearest = -1;
  let least = LINE_REACH_PX;
  for (let at = spread.x.length - 1; at >= 0; at--) {
    const place = spread.x[at] ?? 0;
    if (place < extents.steps[0] || place > extents.steps[1]) continue;
    const far = Math.abs(
      layout.y.scale.toPixel(toCountAxis(spread.counts[at * bins + bin] ?? 0, extents)) - y,
    );
    if (far < least) [nearest, least] = [at, far];
  }
  return nearest;
}

/** The bin that holds a value, or the outermost where none does. */
export function getBinIndex(grid: Float64Array, value: number): number {
  const bins = grid.length - 1;
  const [low = 0, high = 1] = [grid[0], grid[bins]];
  const bin = Math.floor(((value - low) / (high - low)) * bins);
  return Math.min(bins - 1, Math.max(0, bin));
}

/** Where in a rising column a place is, or what is nearest to it; -1 in an empty one. */
export function findNearestStepIndex(x: Float64Array, place: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return x.length > 0 ? 0 : -1;
  const isBefore = low === x.length || place - (x[low - 1] ?? 0) <= (x[low] ?? 0) - place;
  return isBefore ? low - 1 : low;
}

export interface KeyboardMove {
  readonly point: HistogramPoint;
  /** Where what is said of it belongs, in pixels of the chart. */
  readonly at: Point;
}

type ArrowStep = readonly [steps: number, bins: number];

/** What arrow keys do where values lie along the foot: up is back in time, as the eye sees it. */
const HORIZONTAL_VALUE_ARROWS: Readonly<Record<string, ArrowStep>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};
const VERTICAL_VALUE_ARROWS: Readonly<Record<string, ArrowStep>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowDown: [0, -1],
  ArrowUp: [0, 1],
};

/** The histogram or bin that a key leads to; null for keys that lead nowhere. */
export function movePoint(
  key: string,
  content: HistogramData,
  set: PanelLayout,
  mode: HistogramMode,
  spot: HistogramPoint | null,
): KeyboardMove | null {
  const arrow = (hasHorizontalValues(mode) ? HORIZONTAL_VALUE_ARROWS : VERTICAL_VALUE_ARROWS)[key];
  const isEnd = key === 'Home' || key === 'End';
  const number = spot?.seriesIndex ?? 0;
  const spread = content.series[number];
  if ((!arrow && !isEnd) || !spread || spread.x.length === 0) return null;
  const last = spread.x.length - 1;
  const [steps, bins] = arrow ?? [0, 0];
  const from = spot?.index ?? last;
  const wanted = key === 'Home' ? 0 : key === 'End' ? last : from + (spot ? steps : 0);
  const at = Math.min(last, Math.max(0, wanted));
  const value = getNextBinValue(content, mode, spot, bins);
  const moved = { seriesIndex: number, index: at, value };
  return { point: moved, at: getPointPixel(content, set, mode, moved) };
}

function getNextBinValue(
  { binEdges }: HistogramData,
  mode: HistogramMode,
  spot: HistogramPoint | null,
  by: number,
): number | null {
  if (isPercentileMode(mode) || binEdges.length < 2) return null;
  const bins = binEdges.length - 1;
  const now = spot?.value ?? null;
  const bin =
    now === null ? bins >> 1 : Math.min(bins - 1, Math.max(0, getBinIndex(binEdges, now) + by));
  return ((binEdges[bin] ?? 0) + (binEdges[bin + 1] ?? 0)) / 2;
}

function getPointPixel(
  { series }: HistogramData,
  { panels }: PanelLayout,
  mode: HistogramMode,
  { seriesIndex, index, value }: HistogramPoint,
): Point {
  const panel = panels.find((panel) => panel.seriesIndexes.includes(seriesIndex)) ?? panels[0];
  if (!panel) return { x: 0, y: 0 };
  const { x, y, plotArea } = panel.layout;
  const step = series[seriesIndex]?.x[index] ?? 0;
  if (!hasHorizontalValues(mode))
    return {
      x: x.scale.toPixel(step),
      y: value === null ? plotArea.top + 20 : y.scale.toPixel(value),
    };
  return {
    x: x.scale.toPixel(value ?? 0),
    y: mode === 'offset' ? y.scale.toPixel(step) : plotArea.top + 20,
  };
}

/** What a box dragged over a panel holds. */
export function zoomHistogramToRect(
  layout: PlotLayout,
  mode: HistogramMode,
  now: HistogramViewport,
  from: Point,
  to: Point,
): HistogramViewport | null {
  return toHistogramViewport(
    zoomToRect(layout, from, to),
    mode,
    now,
    getHistogramDragAxes(layout, mode, from, to),
  );
}

/** Lines over each other have no axis of steps, and counts are never zoomed. */
export function getHistogramDragAxes(
  layout: PlotLayout,
  mode: HistogramMode,
  from: Point,
  to: Point,
): ZoomAxes {
  return mode === 'overlay' ? 'x' : getDragAxes(layout, from, to);
}

export function zoomHistogramAround(
  layout: PlotLayout,
  mode: HistogramMode,
  now: HistogramViewport,
  at: Point,
  factor: number,
): HistogramViewport | null {
  const across = mode === 'overlay' ? 'x' : getAxesAt(layout, at);
  return toHistogramViewport(zoomAround(layout, at, factor, across), mode, now, across);
}

export function panHistogram(
  layout: PlotLayout,
  mode: HistogramMode,
  now: HistogramViewport,
  dx: number,
  dy: number,
): HistogramViewport | null {
  return toHistogramViewport(panBy(layout, dx, dy), mode, now, mode === 'overlay' ? 'x' : 'both');
}

function toHistogramViewport(
  extent: ChartViewport | null,
  mode: HistogramMode,
  now: HistogramViewport,
  across: ZoomAxes,
): HistogramViewport | null {
  if (!extent) return null;
  const [x, y] = [across === 'y' ? null : extent.x, across === 'x' ? null : extent.y];
  return hasHorizontalValues(mode)
    ? { values: x ?? now.values, steps: mode === 'overlay' ? now.steps : (y ?? now.steps) }
    : { steps: x ?? now.steps, values: y ?? now.values };
}

/** A chart in a sentence. */
export function describeHistogramChart(
  label: string,
  { series }: HistogramData,
  { extents }: PanelLayout,
  { mode, format }: HistogramViewOptions,
): string {
  const count = series.reduce((sum, { x }) => sum + x.length, 0);
  const what = isPercentileMode(mode) ? 'distribution' : 'histogram';
  if (count === 0) return `${label}: no ${what}s`;
  const runs = formatPlural(series.length, 'run');
  const steps = extents.steps.map((end) => formatAxisValue(end, format)).join(' to ');
  const values = extents.values.map((end) => formatValue(end)).join(' to ');
  return `${label}: ${formatPlural(count, what)} of ${runs}, ${steps}, values ${values}`;
}
