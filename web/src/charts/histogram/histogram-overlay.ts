import { formatAxisValue } from '../axes/ticks';
import { type ChartTheme, makePath, type Rect, type Renderer } from '../renderer/renderer';
import { alignToPixel, CHIP_HEIGHT_PX, drawLabelChip, type LabelChip } from '../axes/plot-axes';
import { getBinIndex, findNearestStepIndex } from './histogram-interaction';
import {
  drawHighlightedLine,
  drawHighlightedRidge,
  toCountAxis,
  traceRidge,
} from './histogram-renderer';
import {
  type HistogramData,
  type HistogramMode,
  type HistogramPoint,
  type HistogramSeries,
  isPercentileMode,
  type Panel,
  type PanelLayout,
} from './histogram-model';

/** What is drawn above the chart and follows the pointer. */
export interface HoverOverlay {
  /** The hovered point of this chart. */
  readonly point: HistogramPoint | null;
  /** The hovered step, in this chart or in a linked one. */
  readonly cursor: number | null;
  readonly pinned: number | null;
  /** The rectangle being dragged, in pixels. */
  readonly dragRect: Rect | null;
}

export function isHoverOverlayEmpty({ point, cursor, pinned, dragRect }: HoverOverlay): boolean {
  return point === null && cursor === null && pinned === null && dragRect === null;
}

export function drawHoverOverlay(
  renderer: Renderer,
  content: HistogramData,
  set: PanelLayout,
  mode: HistogramMode,
  overlay: HoverOverlay,
  theme: ChartTheme,
): void {
  const place = getHoveredX(content, overlay);
  if (place !== null) {
    for (const panel of set.panels) {
      for (const number of panel.seriesIndexes) {
        const entry = content.series[number];
        if (!entry) continue;
        const isHere = overlay.point?.seriesIndex === number;
        const at = isHere ? (overlay.point?.index ?? -1) : findIndexAt(entry.x, place);
        const value = isHere ? (overlay.point?.value ?? null) : null;
        if (at >= 0 && isStepVisible(entry.x[at] ?? NaN, set))
          drawHighlight(renderer, entry, at, value, content, set, panel, mode, theme);
      }
    }
  }
  if (overlay.dragRect) drawSelectionRect(renderer, overlay.dragRect, theme);
}

/** Return the histogram at a step; -1 before the start or after the end of a run. */
export function findIndexAt(x: Float64Array, place: number): number {
  const at = findNearestStepIndex(x, place);
  const here = x[at] ?? NaN;
  const gap = Math.max(here - (x[at - 1] ?? here), (x[at + 1] ?? here) - here);
  return Math.abs(here - place) <= gap || here === place ? at : -1;
}

function getHoveredX(
  { series }: HistogramData,
  { point, cursor, pinned }: HoverOverlay,
): number | null {
  const own = point && series[point.seriesIndex]?.x[point.index];
  return own ?? cursor ?? pinned;
}

function isStepVisible(x: number, { extents: { steps } }: PanelLayout): boolean {
  return x >= steps[0] && x <= steps[1];
}

function drawHighlight(
  renderer: Renderer,
  entry: HistogramSeries,
  at: number,
  value: number | null,
  { binEdges }: HistogramData,
  { extents }: PanelLayout,
  panel: Panel,
  mode: HistogramMode,
  theme: ChartTheme,
): void {
  const { layout } = panel;
  const x = entry.x[at] ?? 0;
  if (isPercentileMode(mode)) return highlightPercentiles(renderer, entry, at, panel, theme);
  if (binEdges.length < 2) return;
  const bin = value === null ? -1 : getBinIndex(binEdges, value);
  if (mode === 'heat') return highlightHeatCell(renderer, x, bin, binEdges, panel, theme);
  if (mode === 'offset') {
    renderer.clip(
      { ...layout.plotArea, top: layout.plotArea.top - 2, height: layout.plotArea.height + 3 },
      () => drawHighlightedRidge(renderer, entry, at, binEdges, layout, extents, theme),
    );
    const { x: places, high } = traceRidge(entry, at, binEdges, layout, extents);
    if (bin >= 0)
      renderer.dot(places[bin + 1] ?? 0, high[bin + 1] ?? 0, 3, {
        color: theme.text,
        ring: theme.background,
      });
    // Otherwise the label would be in the neighboring panel.
    const isAtEdge = layout.y2?.ticks.some(({ label }) => label !== '') ?? true;
    if (!isAtEdge && value === null) return;
    const top = layout.y.scale.toPixel(x) - CHIP_HEIGHT_PX + 2;
    const right = layout.plotArea.left + layout.plotArea.width;
    return drawLabelChip(
      renderer,
      makeStepChip(formatAxisValue(x, layout.format), right, top, theme),
      layout.size,
    );
  }
  drawHighlightedLine(renderer, entry, at, binEdges, layout, extents, theme);
  if (bin < 0) return;
  const middle = ((binEdges[bin] ?? 0) + (binEdges[bin + 1] ?? 0)) / 2;
  const count = entry.counts[at * (binEdges.length - 1) + bin] ?? 0;
  const y = layout.y.scale.toPixel(toCountAxis(count, extents));
  renderer.dot(layout.x.scale.toPixel(middle), y, 3.5, {
    color: theme.text,
    ring: theme.background,
  });
}

function makeStepChip(
  text: string,
  x: number,
  top: number,
  { text: background, background: color }: ChartTheme,
): LabelChip {
  return { text, x, top, color, background };
}

function drawStepLine(renderer: Renderer, x: number, { layout }: Panel, theme: ChartTheme): void {
  const { plotArea } = layout;
  const at = alignToPixel(layout.x.scale.toPixel(x));
  const style = { color: theme.crosshair, width: 1, dash: [3, 3] };
  renderer.stroke(makePath(at, plotArea.top, at, plotArea.top + plotArea.height), style);
  const top = plotArea.top + plotArea.height + 3;
  drawLabelChip(
    renderer,
    makeStepChip(formatAxisValue(x, layout.format), at, top, theme),
    layout.size,
  );
}

function highlightPercentiles(
  renderer: Renderer,
  entry: HistogramSeries,
  at: number,
  panel: Panel,
  theme: ChartTheme,
): void {
  drawStepLine(renderer, entry.x[at] ?? 0, panel, theme);
  const { x, y } = panel.layout;
  const place = x.scale.toPixel(entry.x[at] ?? 0);
  for (let number = 0; number < 9; number++) {
    const height = y.scale.toPixel(entry.percentiles[at * 9 + number] ?? NaN);
    const radius = number === 4 ? 3.5 : 2;
    if (!Number.isNaN(height))
      renderer.dot(place, height, radius, { color: entry.color, ring: theme.background });
  }
}

function highlightHeatCell(
  renderer: Renderer,
  x: number,
  bin: number,
  binEdges: Float64Array,
  panel: Panel,
  theme: ChartTheme,
): void {
  drawStepLine(renderer, x, panel, theme);
  if (bin < 0) return;
  const { x: across, y } = panel.layout;
  const [bottom, top] = [
    y.scale.toPixel(binEdges[bin] ?? 0),
    y.scale.toPixel(binEdges[bin + 1] ?? 0),
  ];
  const middle = across.scale.toPixel(x);
  const path = makePath(
    middle - 5,
    top,
    middle + 5,
    top,
    middle + 5,
    bottom,
    middle - 5,
    bottom,
    middle - 5,
    top,
  );
  renderer.stroke(path, { color: theme.text, width: 1.25 });
}

function drawSelectionRect(renderer: Renderer, box: Rect, { accent }: ChartTheme): void {
  renderer.rect(box, { color: accent, opacity: 0.12 });
  const { left, top, width, height } = box;
  const [right, bottom] = [left + width, top + height];
  const path = makePath(left, top, right, top, right, bottom, left, bottom, left, top);
  renderer.stroke(path, { color: accent, width: 1 });
}
