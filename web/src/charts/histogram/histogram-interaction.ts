import * as common from '../../catalog/common';
import * as m from '../../catalog/charts';
import { formatRange, formatValue } from '../../lib/format';
import type { PlotLayout } from '../axes/plot-axes';
import { formatAxisValue } from '../axes/ticks';
import {
  getAxesAt,
  getDragAxes,
  panBy,
  zoomAround,
  type ZoomAxes,
  zoomToRect,
} from '../axes/domain';
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
  type Panel,
  type PanelLayout,
} from './histogram-model';
import { toCountAxis, traceRidge } from './histogram-renderer';

/** Maximum distance of the pointer to a line. */
const LINE_REACH_PX = 60;

/** Return the panel at a point, or the nearest one. */
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

/** Return the histogram and value at a point of the chart. */
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
  const entry = content.series[number];
  if (!entry) return null;
  const at =
    mode === 'offset'
      ? findRidgeIndex(content, set, panel, entry, point)
      : mode === 'overlay'
        ? findLineIndex(content, set, panel, entry, point)
        : findNearestStepIndex(entry.x, layout.x.scale.toValue(point.x));
  return at < 0 ? null : { seriesIndex: number, index: at, value };
}

/** Return the series whose median is nearest. */
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

/** Return the front ridge at a point, otherwise the one with the nearest baseline. */
function findRidgeIndex(
  { binEdges }: HistogramData,
  { extents }: PanelLayout,
  { layout }: Panel,
  entry: HistogramSeries,
  { x, y }: Point,
): number {
  const bin = getBinIndex(binEdges, layout.x.scale.toValue(x));
  let nearest = -1;
  let least = Infinity;
  for (let at = entry.x.length - 1; at >= 0; at--) {
    const place = entry.x[at] ?? 0;
    if (place < extents.steps[0] || place > extents.steps[1]) continue;
    const { low, high } = traceRidge(entry, at, binEdges, layout, extents);
    const [bottom, crest] = [low[bin + 1] ?? 0, high[bin + 1] ?? 0];
    if (y <= bottom && y >= crest - 1 && bottom - crest > 0.5) return at;
    const far = Math.abs(bottom - y);
    if (far < least) [nearest, least] = [at, far];
  }
  return nearest;
}

function findLineIndex(
  { binEdges }: HistogramData,
  { extents }: PanelLayout,
  { layout }: Panel,
  entry: HistogramSeries,
  { x, y }: Point,
): number {
  const bins = binEdges.length - 1;
  const bin = getBinIndex(binEdges, layout.x.scale.toValue(x));
  let nearest = -1;
  let least = LINE_REACH_PX;
  for (let at = entry.x.length - 1; at >= 0; at--) {
    const place = entry.x[at] ?? 0;
    if (place < extents.steps[0] || place > extents.steps[1]) continue;
    const far = Math.abs(
      layout.y.scale.toPixel(toCountAxis(entry.counts[at * bins + bin] ?? 0, extents)) - y,
    );
    if (far < least) [nearest, least] = [at, far];
  }
  return nearest;
}

/** Return the bin of a value, or the first or last bin. */
export function getBinIndex(binEdges: Float64Array, value: number): number {
  const bins = binEdges.length - 1;
  const [low = 0, high = 1] = [binEdges[0], binEdges[bins]];
  const bin = Math.floor(((value - low) / (high - low)) * bins);
  return Math.min(bins - 1, Math.max(0, bin));
}

/** Return the index of the nearest value in a sorted column; -1 if it is empty. */
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
  /** Position of its tooltip, in pixels of the chart. */
  readonly at: Point;
}

type ArrowStep = readonly [steps: number, bins: number];

/** Arrow keys if values are on the x axis: up moves to earlier steps, which are drawn higher. */
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

/** Return the histogram or bin that a key moves to; null for other keys. */
export function movePoint(
  key: string,
  content: HistogramData,
  set: PanelLayout,
  mode: HistogramMode,
  point: HistogramPoint | null,
): KeyboardMove | null {
  const arrow = (hasHorizontalValues(mode) ? HORIZONTAL_VALUE_ARROWS : VERTICAL_VALUE_ARROWS)[key];
  const isEnd = key === 'Home' || key === 'End';
  const number = point?.seriesIndex ?? 0;
  const entry = content.series[number];
  if ((!arrow && !isEnd) || !entry || entry.x.length === 0) return null;
  const last = entry.x.length - 1;
  const [steps, bins] = arrow ?? [0, 0];
  const from = point?.index ?? last;
  const wanted = key === 'Home' ? 0 : key === 'End' ? last : from + (point ? steps : 0);
  const at = Math.min(last, Math.max(0, wanted));
  const value = getNextBinValue(content, mode, point, bins);
  const moved = { seriesIndex: number, index: at, value };
  return { point: moved, at: getPointPixel(content, set, mode, moved) };
}

function getNextBinValue(
  { binEdges }: HistogramData,
  mode: HistogramMode,
  point: HistogramPoint | null,
  by: number,
): number | null {
  if (isPercentileMode(mode) || binEdges.length < 2) return null;
  const bins = binEdges.length - 1;
  const now = point?.value ?? null;
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

/** Return the viewport of a rectangle dragged over a panel. */
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

/** Return the axes of a drag. Overlaid lines have no step axis, and counts are not zoomed. */
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

/** Describe a chart for screen readers. */
export function describeHistogramChart(
  label: string,
  { series }: HistogramData,
  { extents }: PanelLayout,
  { mode, format }: HistogramViewOptions,
): string {
  const count = series.reduce((sum, { x }) => sum + x.length, 0);
  const isDistribution = isPercentileMode(mode);
  if (count === 0)
    return isDistribution
      ? m.distributionSummaryEmpty({ label })
      : m.histogramSummaryEmpty({ label });
  const values = {
    label,
    count,
    runs: common.runCount({ count: series.length }),
    steps: formatRange(extents.steps, (end) => formatAxisValue(end, format)),
    values: formatRange(extents.values, formatValue),
  };
  return isDistribution ? m.distributionSummary(values) : m.histogramSummary(values);
}
