import { parseRgb } from '../../lib/colors';
import { drawAxes, truncateToWidth } from '../axes/axis-renderer';
import { LABEL_SIZE_PX, type PlotLayout } from '../axes/plot-layout';
import type { ChartTheme } from '../renderer/chart-theme';
import {
  type AreaEdges,
  makePath,
  type Path,
  type Raster,
  type Rect,
  type Renderer,
} from '../renderer/renderer';
import type { NumberRange } from '../types';
import {
  type HistogramData,
  type HistogramExtents,
  type HistogramMode,
  type HistogramSeries,
  isPercentileMode,
  MAIN_BAND,
  makeCountScale,
  MEDIAN_INDEX,
} from './histogram-model';
import { type Panel, type PanelLayout, RIDGE_HEIGHT_RATIO } from './panel-layout';

/** Pairs of the nine values that bound a band, from the widest to the narrowest. */
const NESTED_BANDS = [
  [0, 8],
  [1, 7],
  [2, 6],
  [3, 5],
] as const;
/** Bands lie on each other, so that each adds to the strength of the wider ones. */
const BAND_OPACITIES = [0.14, 0.19, 0.24, 0.32];
/** A single histogram is so many pixels wide to either side. */
const SINGLE_STEP_HALF_WIDTH_PX = 12;

/** All bands within each other, or the main one alone, and the median. */
export function drawBands(
  pen: Renderer,
  spread: HistogramSeries,
  layout: PlotLayout,
  isMain: boolean,
): void {
  const { color } = spread;
  if (isMain) drawMainBand(pen, spread, layout);
  else
    NESTED_BANDS.forEach(([low, high], number) => {
      const opacity = BAND_OPACITIES[number] ?? 0.2;
      pen.area(traceBand(spread, low, high, layout), { color, opacity });
    });
  pen.stroke(tracePercentile(spread, MEDIAN_INDEX, layout), { color, width: 1.8 });
}

/** With lines at its edges, as the bands of several runs lie on each other. */
function drawMainBand(pen: Renderer, spread: HistogramSeries, layout: PlotLayout): void {
  const { color } = spread;
  pen.area(traceBand(spread, ...MAIN_BAND, layout), { color, opacity: 0.12 });
  for (const number of MAIN_BAND)
    pen.stroke(tracePercentile(spread, number, layout), { color, width: 1, opacity: 0.7 });
}

/** The area between two of the nine values, in pixels. */
export function traceBand(
  spread: HistogramSeries,
  low: number,
  high: number,
  layout: PlotLayout,
): AreaEdges {
  const place = getStepPixels(spread, layout);
  const side = (number: number): Float32Array =>
    Float32Array.from(place, (_, at) => getPercentilePixel(spread, at, number, layout));
  return { x: place, low: side(low), high: side(high), length: place.length };
}

function tracePercentile(spread: HistogramSeries, number: number, layout: PlotLayout): Path {
  const place = getStepPixels(spread, layout);
  const points = new Float32Array(2 * place.length);
  place.forEach((x, at) => {
    const y = getPercentilePixel(spread, at, number, layout);
    points.set(Number.isNaN(y) ? [NaN, NaN] : [x, y], 2 * at);
  });
  return { points, length: points.length };
}

function getStepPixels({ x }: HistogramSeries, { x: { scale } }: PlotLayout): Float32Array {
  const only = scale.toPixel(x[0] ?? 0);
  if (x.length === 1)
    return Float32Array.of(only - SINGLE_STEP_HALF_WIDTH_PX, only + SINGLE_STEP_HALF_WIDTH_PX);
  return Float32Array.from(x, (value) => scale.toPixel(value));
}

function getPercentilePixel(
  { x, percentiles }: HistogramSeries,
  at: number,
  number: number,
  { y }: PlotLayout,
): number {
  return y.scale.toPixel(percentiles[Math.min(at, x.length - 1) * 9 + number] ?? NaN);
}

/** A bin with a single number in it is still seen. */
const MIN_HEAT_OPACITY = 0.07;
const MAX_HEAT_COLUMNS = 2048;

/**
 * Counts as strengths of a colour: a column of pixels a step, up to half way to its neighbours, and a
 * row of pixels a bin. What has no count lets the paper through.
 */
export function renderHeatMap(
  spread: HistogramSeries,
  grid: Float64Array,
  columns: number,
  steps: NumberRange,
  { maxCount, isLog }: HistogramExtents,
): Raster {
  const bins = grid.length - 1;
  const width = Math.max(1, Math.min(MAX_HEAT_COLUMNS, Math.round(columns)));
  const pixels = new Uint8ClampedArray(4 * width * bins);
  const [red = 0, green = 0, blue = 0] = parseRgb(spread.color);
  const level = makeCountScale(maxCount, isLog);
  const near = findNearestSteps(spread.x, width, steps);
  for (let bin = 0; bin < bins; bin++) {
    const row = (bins - 1 - bin) * width;
    for (let column = 0; column < width; column++) {
      const at = near[column] ?? -1;
      const count = at < 0 ? 0 : (spread.counts[at * bins + bin] ?? 0);
      if (!(count > 0)) continue;
      const strength = MIN_HEAT_OPACITY + (1 - MIN_HEAT_OPACITY) * level(count);
      pixels.set([red, green, blue, 255 * strength], 4 * (row + column));
    }
  }
  return { width, height: bins, pixels };
}

/** For each column of pixels the histogram that is nearest; none beyond the first and the last. */
export function findNearestSteps(
  x: Float64Array,
  columns: number,
  [start, stop]: NumberRange,
): Int32Array {
  const found = new Int32Array(columns).fill(-1);
  const last = x.length - 1;
  if (last < 0) return found;
  const [before, after] = [getHalfGap(x, 0, 1), getHalfGap(x, last, last - 1)];
  let at = 0;
  for (let column = 0; column < columns; column++) {
    const place = start + ((column + 0.5) / columns) * (stop - start);
    while (at < last && getMidpoint(x, at) <= place) at++;
    if (place >= (x[0] ?? 0) - before && place <= (x[last] ?? 0) + after) found[column] = at;
  }
  return found;
}

const getMidpoint = (x: Float64Array, at: number): number => ((x[at] ?? 0) + (x[at + 1] ?? 0)) / 2;

/** Half the way to a neighbour; a histogram that has none is everywhere. */
function getHalfGap(x: Float64Array, at: number, neighbour: number): number {
  const gap = Math.abs((x[neighbour] ?? NaN) - (x[at] ?? 0)) / 2;
  return Number.isNaN(gap) ? Infinity : gap;
}

/** How strong the colour of the oldest and of the newest is. */
const MIN_RIDGE_OPACITY = 0.22;
const MAX_RIDGE_OPACITY = 0.82;

/** How strong a histogram is coloured: the newer, the stronger. */
export function getAgeOpacity(x: number, [first, last]: readonly [number, number]): number {
  const along = last > first ? (x - first) / (last - first) : 1;
  return (
    MIN_RIDGE_OPACITY + (MAX_RIDGE_OPACITY - MIN_RIDGE_OPACITY) * Math.min(1, Math.max(0, along))
  );
}

/** The outline of one histogram above its foot, in pixels. */
export function traceRidge(
  spread: HistogramSeries,
  at: number,
  grid: Float64Array,
  layout: PlotLayout,
  ends: HistogramExtents,
): AreaEdges {
  const bins = grid.length - 1;
  const foot = layout.y.scale.toPixel(spread.x[at] ?? 0);
  const level = makeCountScale(ends.maxCount, ends.isLog);
  const tallest =
    layout.plotArea.height * (ends.steps[0] === ends.steps[1] ? 0.94 : RIDGE_HEIGHT_RATIO);
  const { x, low, high } = makeAreaEdges(bins + 2);
  for (let point = 0; point < bins + 2; point++) {
    const bin = Math.min(bins - 1, Math.max(0, point - 1));
    x[point] = layout.x.scale.toPixel(getRidgeValue(grid, point));
    low[point] = foot;
    high[point] = foot - tallest * level(spread.counts[at * bins + bin] ?? 0);
  }
  return { x, low, high, length: bins + 2 };
}

/** The middle of each bin, and before and after them the ends of the grid. */
function getRidgeValue(grid: Float64Array, point: number): number {
  const bins = grid.length - 1;
  if (point === 0) return grid[0] ?? 0;
  if (point === bins + 1) return grid[bins] ?? 0;
  return ((grid[point - 1] ?? 0) + (grid[point] ?? 0)) / 2;
}

function makeAreaEdges(length: number): { x: Float32Array; low: Float32Array; high: Float32Array } {
  return {
    x: new Float32Array(length),
    low: new Float32Array(length),
    high: new Float32Array(length),
  };
}

/** From the oldest at the back to the newest in front, each hiding what is behind it. */
export function drawRidges(
  pen: Renderer,
  spread: HistogramSeries,
  grid: Float64Array,
  layout: PlotLayout,
  ends: HistogramExtents,
  { background }: ChartTheme,
): void {
  // Where ridges are near each other, lines between them would be all that is seen.
  const apart = (layout.plotArea.height * (1 - RIDGE_HEIGHT_RATIO)) / spread.x.length;
  const width = Math.min(1, apart / 2.5);
  for (let at = 0; at < spread.x.length; at++) {
    const x = spread.x[at] ?? 0;
    if (x < ends.steps[0] || x > ends.steps[1]) continue;
    const edges = traceRidge(spread, at, grid, layout, ends);
    pen.area(edges, { color: background });
    pen.area(edges, { color: spread.color, opacity: getAgeOpacity(x, ends.steps) });
    pen.stroke(traceCrest(edges), { color: background, width, opacity: 0.9 });
  }
}

/** The one that is pointed at, in front of all others. */
export function drawHighlightedRidge(
  pen: Renderer,
  spread: HistogramSeries,
  at: number,
  grid: Float64Array,
  layout: PlotLayout,
  ends: HistogramExtents,
  { text, background }: ChartTheme,
): void {
  const edges = traceRidge(spread, at, grid, layout, ends);
  pen.area(edges, { color: background, opacity: 0.75 });
  pen.area(edges, { color: spread.color, opacity: 0.92 });
  pen.stroke(dropBaseline(traceCrest(edges), edges.low[0] ?? 0), { color: text, width: 1.25 });
}

/** A line along bins in which nothing was counted would look like an axis. */
function dropBaseline({ points, length }: Path, foot: number): Path {
  const isFoot = (at: number): boolean => Math.abs((points[2 * at + 1] ?? foot) - foot) < 0.25;
  const kept = points.slice();
  for (let at = 0; at < length / 2; at++)
    if (isFoot(at) && isFoot(at - 1) && isFoot(at + 1)) kept.fill(NaN, 2 * at, 2 * at + 2);
  return { points: kept, length };
}

export function traceCrest({ x, high, length }: AreaEdges): Path {
  const points = new Float32Array(2 * length);
  for (let at = 0; at < length; at++) {
    points[2 * at] = x[at] ?? 0;
    points[2 * at + 1] = high[at] ?? 0;
  }
  return { points, length: 2 * length };
}

/** The counts of one histogram as a line over its values, in pixels. */
export function traceCounts(
  spread: HistogramSeries,
  at: number,
  grid: Float64Array,
  layout: PlotLayout,
  ends: HistogramExtents,
): Path {
  const bins = grid.length - 1;
  const points = new Float32Array(2 * bins);
  for (let bin = 0; bin < bins; bin++) {
    points[2 * bin] = layout.x.scale.toPixel(((grid[bin] ?? 0) + (grid[bin + 1] ?? 0)) / 2);
    points[2 * bin + 1] = layout.y.scale.toPixel(
      toCountAxis(spread.counts[at * bins + bin] ?? 0, ends),
    );
  }
  return { points, length: 2 * bins };
}

/** Where a count stands on the axis, which of a logarithmic one is where its logarithm is. */
export function toCountAxis(count: number, { isLog }: HistogramExtents): number {
  return isLog ? Math.log1p(Math.max(0, count)) : count;
}

export function drawCountLines(
  pen: Renderer,
  spread: HistogramSeries,
  grid: Float64Array,
  layout: PlotLayout,
  ends: HistogramExtents,
): void {
  const last = spread.x.length - 1;
  for (let at = 0; at <= last; at++) {
    const x = spread.x[at] ?? 0;
    if (x < ends.steps[0] || x > ends.steps[1]) continue;
    const opacity = 0.8 * getAgeOpacity(x, ends.steps) ** 1.5 + (at === last ? 0.3 : 0);
    const style = {
      color: spread.color,
      width: at === last ? 1.8 : 1.1,
      opacity: Math.min(1, opacity),
    };
    pen.stroke(traceCounts(spread, at, grid, layout, ends), style);
  }
}

export function drawHighlightedLine(
  pen: Renderer,
  spread: HistogramSeries,
  at: number,
  grid: Float64Array,
  layout: PlotLayout,
  ends: HistogramExtents,
  { background, text }: ChartTheme,
): void {
  const line = traceCounts(spread, at, grid, layout, ends);
  pen.stroke(line, { color: background, width: 5, opacity: 0.8 });
  pen.stroke(line, { color: text, width: 2 });
}

/** Everything that stays as it is while a pointer moves. */
export function drawHistograms(
  pen: Renderer,
  content: HistogramData,
  set: PanelLayout,
  mode: HistogramMode,
  palette: ChartTheme,
): void {
  for (const panel of set.panels) {
    drawAxes(pen, panel.layout, palette);
    const shown = panel.seriesIndexes.flatMap((number) => content.series[number] ?? []);
    pen.clip(getClipRect(panel, mode), () => {
      for (const spread of shown) drawSeries(pen, spread, content, set, panel, mode, palette);
    });
    if (mode === 'offset') drawBaseline(pen, panel, palette);
    if (panel.title && shown[0]) drawTitle(pen, panel.title, shown[0], palette);
  }
}

/** Ridges at the back reach above the frame of their panel by nothing, lines by half their width. */
function getClipRect({ layout: { plotArea } }: Panel, mode: HistogramMode): Rect {
  return mode === 'heat'
    ? plotArea
    : { ...plotArea, top: plotArea.top - 2, height: plotArea.height + 3 };
}

function drawSeries(
  pen: Renderer,
  spread: HistogramSeries,
  { binEdges, series }: HistogramData,
  { extents }: PanelLayout,
  { layout, seriesIndexes: together }: Panel,
  mode: HistogramMode,
  palette: ChartTheme,
): void {
  if (isPercentileMode(mode))
    return drawBands(pen, spread, layout, together.length > 1 && series.length > 1);
  if (binEdges.length < 2) return;
  if (mode === 'offset') return drawRidges(pen, spread, binEdges, layout, extents, palette);
  if (mode === 'overlay') return drawCountLines(pen, spread, binEdges, layout, extents);
  const { plotArea, x, y } = layout;
  const raster = renderHeatMap(spread, binEdges, plotArea.width, x.scale.domain, extents);
  const [top, foot] = [y.scale.toPixel(binEdges.at(-1) ?? 1), y.scale.toPixel(binEdges[0] ?? 0)];
  pen.image(raster, { left: plotArea.left, width: plotArea.width, top, height: foot - top });
}

/** The axis that the newest ridge stands on, above what is drawn over it. */
function drawBaseline(pen: Renderer, { layout: { plotArea } }: Panel, { axis }: ChartTheme): void {
  const foot = Math.round(plotArea.top + plotArea.height) + 0.5;
  pen.stroke(makePath(plotArea.left, foot, plotArea.left + plotArea.width, foot), {
    color: axis,
    width: 1,
  });
}

function drawTitle(
  pen: Renderer,
  { left, top, width, height }: Rect,
  spread: HistogramSeries,
  palette: ChartTheme,
): void {
  const middle = top + height / 2;
  pen.rect({ left, top: middle - 3.5, width: 7, height: 7 }, { color: spread.color, radius: 2 });
  const style = {
    color: palette.label,
    size: LABEL_SIZE_PX,
    align: 'left',
    baseline: 'middle',
  } as const;
  pen.text(truncateToWidth(pen, spread.label, width - 8), left + 11, middle, style);
}
