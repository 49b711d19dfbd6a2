import { parseRgb } from '../../lib/colors';
import { drawAxes, LABEL_SIZE_PX, type PlotLayout, truncateToWidth } from '../axes/plot-axes';
import {
  type AreaEdges,
  type ChartTheme,
  LIGHT_THEME,
  makePath,
  type Path,
  type Raster,
  type Rect,
  type Renderer,
} from '../renderer/renderer';
import { renderPng, renderSvg } from '../renderer/image-export';
import type { NumberRange } from '../types';
import {
  type HistogramData,
  type HistogramExtents,
  type HistogramMode,
  type HistogramSeries,
  type HistogramViewOptions,
  isPercentileMode,
  layoutPanels,
  MAIN_BAND,
  makeCountScale,
  MEDIAN_INDEX,
  type Panel,
  type PanelLayout,
  RIDGE_HEIGHT_RATIO,
} from './histogram-model';

/** Pairs of percentiles that bound a band, widest first. */
const NESTED_BANDS = [
  [0, 8],
  [1, 7],
  [2, 6],
  [3, 5],
] as const;
/** Opacities of the nested bands, which add up. */
const BAND_OPACITIES = [0.14, 0.19, 0.24, 0.32];
/** Half width of a single histogram. */
const SINGLE_STEP_HALF_WIDTH_PX = 12;

/** Draw all bands or the main one, and the median. */
export function drawBands(
  renderer: Renderer,
  entry: HistogramSeries,
  layout: PlotLayout,
  isMain: boolean,
): void {
  const { color } = entry;
  if (isMain) drawMainBand(renderer, entry, layout);
  else
    NESTED_BANDS.forEach(([low, high], number) => {
      const opacity = BAND_OPACITIES[number] ?? 0.2;
      renderer.area(traceBand(entry, low, high, layout), { color, opacity });
    });
  renderer.stroke(tracePercentile(entry, MEDIAN_INDEX, layout), { color, width: 1.8 });
}

/** Draw the main band with outlines, as bands of several series overlap. */
function drawMainBand(renderer: Renderer, entry: HistogramSeries, layout: PlotLayout): void {
  const { color } = entry;
  renderer.area(traceBand(entry, ...MAIN_BAND, layout), { color, opacity: 0.12 });
  for (const number of MAIN_BAND)
    renderer.stroke(tracePercentile(entry, number, layout), { color, width: 1, opacity: 0.7 });
}

/** Return the area between two percentiles, in pixels. */
export function traceBand(
  entry: HistogramSeries,
  low: number,
  high: number,
  layout: PlotLayout,
): AreaEdges {
  const place = getStepPixels(entry, layout);
  const side = (number: number): Float32Array =>
    Float32Array.from(place, (_, at) => getPercentilePixel(entry, at, number, layout));
  return { x: place, low: side(low), high: side(high), length: place.length };
}

function tracePercentile(entry: HistogramSeries, number: number, layout: PlotLayout): Path {
  const place = getStepPixels(entry, layout);
  const points = new Float32Array(2 * place.length);
  place.forEach((x, at) => {
    const y = getPercentilePixel(entry, at, number, layout);
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

/** Minimum opacity of a nonempty bin. */
const MIN_HEAT_OPACITY = 0.07;
const MAX_HEAT_COLUMNS = 2048;

/**
 * Render counts as opacities: rows are bins, and each step extends halfway to its neighbors. Empty
 * bins are transparent.
 */
export function renderHeatMap(
  entry: HistogramSeries,
  binEdges: Float64Array,
  columns: number,
  steps: NumberRange,
  { maxCount, isLog }: HistogramExtents,
): Raster {
  const bins = binEdges.length - 1;
  const width = Math.max(1, Math.min(MAX_HEAT_COLUMNS, Math.round(columns)));
  const pixels = new Uint8ClampedArray(4 * width * bins);
  const [red = 0, green = 0, blue = 0] = parseRgb(entry.color);
  const level = makeCountScale(maxCount, isLog);
  const near = findNearestSteps(entry.x, width, steps);
  for (let bin = 0; bin < bins; bin++) {
    const row = (bins - 1 - bin) * width;
    for (let column = 0; column < width; column++) {
      const at = near[column] ?? -1;
      const count = at < 0 ? 0 : (entry.counts[at * bins + bin] ?? 0);
      if (!(count > 0)) continue;
      const strength = MIN_HEAT_OPACITY + (1 - MIN_HEAT_OPACITY) * level(count);
      pixels.set([red, green, blue, 255 * strength], 4 * (row + column));
    }
  }
  return { width, height: bins, pixels };
}

/** Return the nearest histogram of each pixel column; -1 before the first and after the last. */
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

/** Return half the distance to a neighbor; infinite for a single histogram. */
function getHalfGap(x: Float64Array, at: number, neighbor: number): number {
  const gap = Math.abs((x[neighbor] ?? NaN) - (x[at] ?? 0)) / 2;
  return Number.isNaN(gap) ? Infinity : gap;
}

/** Opacities of the oldest and the newest ridge. */
const MIN_RIDGE_OPACITY = 0.22;
const MAX_RIDGE_OPACITY = 0.82;

/** Return the opacity of a histogram; newer ones are more opaque. */
export function getAgeOpacity(x: number, [first, last]: readonly [number, number]): number {
  const along = last > first ? (x - first) / (last - first) : 1;
  return (
    MIN_RIDGE_OPACITY + (MAX_RIDGE_OPACITY - MIN_RIDGE_OPACITY) * Math.min(1, Math.max(0, along))
  );
}

/** Return the outline of a ridge, in pixels. */
export function traceRidge(
  entry: HistogramSeries,
  at: number,
  binEdges: Float64Array,
  layout: PlotLayout,
  extents: HistogramExtents,
): AreaEdges {
  const bins = binEdges.length - 1;
  const bottom = layout.y.scale.toPixel(entry.x[at] ?? 0);
  const level = makeCountScale(extents.maxCount, extents.isLog);
  const tallest =
    layout.plotArea.height * (extents.steps[0] === extents.steps[1] ? 0.94 : RIDGE_HEIGHT_RATIO);
  const { x, low, high } = makeAreaEdges(bins + 2);
  for (let point = 0; point < bins + 2; point++) {
    const bin = Math.min(bins - 1, Math.max(0, point - 1));
    x[point] = layout.x.scale.toPixel(getRidgeValue(binEdges, point));
    low[point] = bottom;
    high[point] = bottom - tallest * level(entry.counts[at * bins + bin] ?? 0);
  }
  return { x, low, high, length: bins + 2 };
}

/** Return the value of a ridge point: bin centers, with the outer edges at the extents. */
function getRidgeValue(binEdges: Float64Array, point: number): number {
  const bins = binEdges.length - 1;
  if (point === 0) return binEdges[0] ?? 0;
  if (point === bins + 1) return binEdges[bins] ?? 0;
  return ((binEdges[point - 1] ?? 0) + (binEdges[point] ?? 0)) / 2;
}

function makeAreaEdges(length: number): { x: Float32Array; low: Float32Array; high: Float32Array } {
  return {
    x: new Float32Array(length),
    low: new Float32Array(length),
    high: new Float32Array(length),
  };
}

/** Draw ridges from the oldest to the newest; each hides those behind it. */
export function drawRidges(
  renderer: Renderer,
  entry: HistogramSeries,
  binEdges: Float64Array,
  layout: PlotLayout,
  extents: HistogramExtents,
  { background }: ChartTheme,
): void {
  // Thinner separators between dense ridges.
  const apart = (layout.plotArea.height * (1 - RIDGE_HEIGHT_RATIO)) / entry.x.length;
  const width = Math.min(1, apart / 2.5);
  for (let at = 0; at < entry.x.length; at++) {
    const x = entry.x[at] ?? 0;
    if (x < extents.steps[0] || x > extents.steps[1]) continue;
    const edges = traceRidge(entry, at, binEdges, layout, extents);
    renderer.area(edges, { color: background });
    renderer.area(edges, { color: entry.color, opacity: getAgeOpacity(x, extents.steps) });
    renderer.stroke(traceCrest(edges), { color: background, width, opacity: 0.9 });
  }
}

/** Draw the hovered ridge above all others. */
export function drawHighlightedRidge(
  renderer: Renderer,
  entry: HistogramSeries,
  at: number,
  binEdges: Float64Array,
  layout: PlotLayout,
  extents: HistogramExtents,
  { text, background }: ChartTheme,
): void {
  const edges = traceRidge(entry, at, binEdges, layout, extents);
  renderer.area(edges, { color: background, opacity: 0.75 });
  renderer.area(edges, { color: entry.color, opacity: 0.92 });
  renderer.stroke(dropBaseline(traceCrest(edges), edges.low[0] ?? 0), { color: text, width: 1.25 });
}

/** Remove the outline of empty bins, which would look like an axis. */
function dropBaseline({ points, length }: Path, bottom: number): Path {
  const isFoot = (at: number): boolean => Math.abs((points[2 * at + 1] ?? bottom) - bottom) < 0.25;
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

/** Return the counts of a histogram as a line, in pixels. */
export function traceCounts(
  entry: HistogramSeries,
  at: number,
  binEdges: Float64Array,
  layout: PlotLayout,
  extents: HistogramExtents,
): Path {
  const bins = binEdges.length - 1;
  const points = new Float32Array(2 * bins);
  for (let bin = 0; bin < bins; bin++) {
    points[2 * bin] = layout.x.scale.toPixel(((binEdges[bin] ?? 0) + (binEdges[bin + 1] ?? 0)) / 2);
    points[2 * bin + 1] = layout.y.scale.toPixel(
      toCountAxis(entry.counts[at * bins + bin] ?? 0, extents),
    );
  }
  return { points, length: 2 * bins };
}

/** Return the axis value of a count; on a log axis, its logarithm. */
export function toCountAxis(count: number, { isLog }: HistogramExtents): number {
  return isLog ? Math.log1p(Math.max(0, count)) : count;
}

export function drawCountLines(
  renderer: Renderer,
  entry: HistogramSeries,
  binEdges: Float64Array,
  layout: PlotLayout,
  extents: HistogramExtents,
): void {
  const last = entry.x.length - 1;
  for (let at = 0; at <= last; at++) {
    const x = entry.x[at] ?? 0;
    if (x < extents.steps[0] || x > extents.steps[1]) continue;
    const opacity = 0.8 * getAgeOpacity(x, extents.steps) ** 1.5 + (at === last ? 0.3 : 0);
    const style = {
      color: entry.color,
      width: at === last ? 1.8 : 1.1,
      opacity: Math.min(1, opacity),
    };
    renderer.stroke(traceCounts(entry, at, binEdges, layout, extents), style);
  }
}

export function drawHighlightedLine(
  renderer: Renderer,
  entry: HistogramSeries,
  at: number,
  binEdges: Float64Array,
  layout: PlotLayout,
  extents: HistogramExtents,
  { background, text }: ChartTheme,
): void {
  const line = traceCounts(entry, at, binEdges, layout, extents);
  renderer.stroke(line, { color: background, width: 5, opacity: 0.8 });
  renderer.stroke(line, { color: text, width: 2 });
}

/** Draw everything that does not follow the pointer. */
export function drawHistograms(
  renderer: Renderer,
  content: HistogramData,
  set: PanelLayout,
  mode: HistogramMode,
  theme: ChartTheme,
): void {
  for (const panel of set.panels) {
    drawAxes(renderer, panel.layout, theme);
    const shown = panel.seriesIndexes.flatMap((number) => content.series[number] ?? []);
    renderer.clip(getClipRect(panel, mode), () => {
      for (const entry of shown) drawSeries(renderer, entry, content, set, panel, mode, theme);
    });
    if (mode === 'offset') drawBaseline(renderer, panel, theme);
    if (panel.title && shown[0]) drawTitle(renderer, panel.title, shown[0], theme);
  }
}

/** Return the clip rectangle, with a margin for line widths. */
function getClipRect({ layout: { plotArea } }: Panel, mode: HistogramMode): Rect {
  return mode === 'heat'
    ? plotArea
    : { ...plotArea, top: plotArea.top - 2, height: plotArea.height + 3 };
}

function drawSeries(
  renderer: Renderer,
  entry: HistogramSeries,
  { binEdges, series }: HistogramData,
  { extents }: PanelLayout,
  { layout, seriesIndexes: together }: Panel,
  mode: HistogramMode,
  theme: ChartTheme,
): void {
  if (isPercentileMode(mode))
    return drawBands(renderer, entry, layout, together.length > 1 && series.length > 1);
  if (binEdges.length < 2) return;
  if (mode === 'offset') return drawRidges(renderer, entry, binEdges, layout, extents, theme);
  if (mode === 'overlay') return drawCountLines(renderer, entry, binEdges, layout, extents);
  const { plotArea, x, y } = layout;
  const raster = renderHeatMap(entry, binEdges, plotArea.width, x.scale.domain, extents);
  const [top, bottom] = [y.scale.toPixel(binEdges.at(-1) ?? 1), y.scale.toPixel(binEdges[0] ?? 0)];
  renderer.image(raster, { left: plotArea.left, width: plotArea.width, top, height: bottom - top });
}

/** Draw the x axis above the ridges. */
function drawBaseline(
  renderer: Renderer,
  { layout: { plotArea } }: Panel,
  { axis }: ChartTheme,
): void {
  const bottom = Math.round(plotArea.top + plotArea.height) + 0.5;
  renderer.stroke(makePath(plotArea.left, bottom, plotArea.left + plotArea.width, bottom), {
    color: axis,
    width: 1,
  });
}

function drawTitle(
  renderer: Renderer,
  { left, top, width, height }: Rect,
  entry: HistogramSeries,
  theme: ChartTheme,
): void {
  const middle = top + height / 2;
  renderer.rect(
    { left, top: middle - 3.5, width: 7, height: 7 },
    { color: entry.color, radius: 2 },
  );
  const style = {
    color: theme.label,
    size: LABEL_SIZE_PX,
    align: 'left',
    baseline: 'middle',
  } as const;
  renderer.text(truncateToWidth(renderer, entry.label, width - 8), left + 11, middle, style);
}

/** Content of an exported image. */
export interface HistogramExport {
  readonly title: string;
  readonly content: HistogramData;
  readonly view: HistogramViewOptions;
}

const SIZE = { width: 880, height: 520 };
const MARGINS = { top: 40, right: 8, bottom: 8, left: 8 };
const LEGEND_HEIGHT = 20;

export function exportHistogramSvg(
  sheet: HistogramExport,
  measure?: Renderer['measureText'],
): string {
  return renderSvg(SIZE, sheet.title, (renderer) => drawExport(renderer, sheet), measure);
}

export function exportHistogramPng(sheet: HistogramExport): Promise<Blob> {
  return renderPng(SIZE, (renderer) => drawExport(renderer, sheet));
}

function drawExport(renderer: Renderer, { title, content, view }: HistogramExport): void {
  renderer.rect({ left: 0, top: 0, ...SIZE }, { color: LIGHT_THEME.background });
  const measure: Renderer['measureText'] = (text, style) => renderer.measureText(text, style);
  const hasLegend = view.mode === 'together' || content.series.length === 1;
  const margins = hasLegend ? { ...MARGINS, bottom: MARGINS.bottom + LEGEND_HEIGHT } : MARGINS;
  const panels = layoutPanels(content, view, SIZE, measure, margins);
  drawHistograms(renderer, content, panels, view.mode, LIGHT_THEME);
  const style = {
    size: 15,
    bold: true,
    color: LIGHT_THEME.text,
    align: 'left',
    baseline: 'top',
  } as const;
  renderer.text(title, 16, 12, style);
  if (hasLegend) drawSeriesLegend(renderer, content);
}

function drawSeriesLegend(renderer: Renderer, { series }: HistogramData): void {
  const style = { size: 11, color: LIGHT_THEME.text, align: 'left', baseline: 'middle' } as const;
  const middle = SIZE.height - LEGEND_HEIGHT / 2 - 4;
  let left = 16;
  for (const { label, color } of series) {
    renderer.rect({ left, top: middle - 4, width: 8, height: 8 }, { color, radius: 2 });
    renderer.text(label, left + 13, middle, style);
    left += 13 + renderer.measureText(label, style) + 18;
  }
}
