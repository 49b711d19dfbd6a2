import { formatAxisValue } from '../axes/ticks';
import { type Rect, makePath, type Renderer } from '../renderer/renderer';
import { alignToPixel, CHIP_HEIGHT_PX, drawLabelChip, type LabelChip } from '../axes/axis-renderer';
import type { ChartTheme } from '../renderer/chart-theme';
import { getBinIndex, findNearestStepIndex } from './histogram-interaction';
import {
  drawHighlightedLine,
  drawHighlightedRidge,
  toCountAxis,
  traceRidge,
} from './histogram-renderer';
import type { Panel, PanelLayout } from './panel-layout';
import {
  isPercentileMode,
  type HistogramSeries,
  type HistogramData,
  type HistogramMode,
  type HistogramPoint,
} from './histogram-model';

/** What lies above the chart and changes with every move of a pointer. */
export interface HoverOverlay {
  /** What is pointed at in this chart. */
  readonly point: HistogramPoint | null;
  /** The place on the axis of steps that is looked at, here or in another chart. */
  readonly cursor: number | null;
  readonly pinned: number | null;
  /** What is being dragged, in pixels. */
  readonly dragRect: Rect | null;
}

export function isHoverOverlayEmpty({ point, cursor, pinned, dragRect }: HoverOverlay): boolean {
  return point === null && cursor === null && pinned === null && dragRect === null;
}

export function drawHoverOverlay(
  pen: Renderer,
  content: HistogramData,
  set: PanelLayout,
  mode: HistogramMode,
  lit: HoverOverlay,
  palette: ChartTheme,
): void {
  const place = getHoveredX(content, lit);
  if (place !== null) {
    for (const panel of set.panels) {
      for (const number of panel.seriesIndexes) {
        const spread = content.series[number];
        if (!spread) continue;
        const isHere = lit.point?.seriesIndex === number;
        const at = isHere ? (lit.point?.index ?? -1) : findIndexAt(spread.x, place);
        const value = isHere ? (lit.point?.value ?? null) : null;
        if (at >= 0 && isStepVisible(spread.x[at] ?? NaN, set))
          drawHighlight(pen, spread, at, value, content, set, panel, mode, palette);
      }
    }
  }
  if (lit.dragRect) drawSelectionRect(pen, lit.dragRect, palette);
}

/** The histogram at a place; none where a run has ended long before, or has not begun. */
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
  pen: Renderer,
  spread: HistogramSeries,
  at: number,
  value: number | null,
  { binEdges }: HistogramData,
  { extents }: PanelLayout,
  panel: Panel,
  mode: HistogramMode,
  palette: ChartTheme,
): void {
  const { layout } = panel;
  const x = spread.x[at] ?? 0;
  if (isPercentileMode(mode)) return highlightPercentiles(pen, spread, at, panel, palette);
  if (binEdges.length < 2) return;
  const bin = value === null ? -1 : getBinIndex(binEdges, value);
  if (mode === 'heat') return highlightHeatCell(pen, x, bin, binEdges, panel, palette);
  if (mode === 'offset') {
    pen.clip(
      { ...layout.plotArea, top: layout.plotArea.top - 2, height: layout.plotArea.height + 3 },
      () => drawHighlightedRidge(pen, spread, at, binEdges, layout, extents, palette),
    );
    const { x: places, high } = traceRidge(spread, at, binEdges, layout, extents);
    if (bin >= 0)
      pen.dot(places[bin + 1] ?? 0, high[bin + 1] ?? 0, 3, {
        color: palette.text,
        ring: palette.background,
      });
    // Elsewhere it would stand in the panel beside.
    const isAtEdge = layout.y2?.ticks.some(({ label }) => label !== '') ?? true;
    if (!isAtEdge && value === null) return;
    const top = layout.y.scale.toPixel(x) - CHIP_HEIGHT_PX + 2;
    const right = layout.plotArea.left + layout.plotArea.width;
    return drawLabelChip(
      pen,
      makeStepChip(formatAxisValue(x, layout.format), right, top, palette),
      layout.size,
    );
  }
  drawHighlightedLine(pen, spread, at, binEdges, layout, extents, palette);
  if (bin < 0) return;
  const middle = ((binEdges[bin] ?? 0) + (binEdges[bin + 1] ?? 0)) / 2;
  const count = spread.counts[at * (binEdges.length - 1) + bin] ?? 0;
  const y = layout.y.scale.toPixel(toCountAxis(count, extents));
  pen.dot(layout.x.scale.toPixel(middle), y, 3.5, {
    color: palette.text,
    ring: palette.background,
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

function drawStepLine(pen: Renderer, x: number, { layout }: Panel, palette: ChartTheme): void {
  const { plotArea } = layout;
  const at = alignToPixel(layout.x.scale.toPixel(x));
  const style = { color: palette.crosshair, width: 1, dash: [3, 3] };
  pen.stroke(makePath(at, plotArea.top, at, plotArea.top + plotArea.height), style);
  const top = plotArea.top + plotArea.height + 3;
  drawLabelChip(
    pen,
    makeStepChip(formatAxisValue(x, layout.format), at, top, palette),
    layout.size,
  );
}

function highlightPercentiles(
  pen: Renderer,
  spread: HistogramSeries,
  at: number,
  panel: Panel,
  palette: ChartTheme,
): void {
  drawStepLine(pen, spread.x[at] ?? 0, panel, palette);
  const { x, y } = panel.layout;
  const place = x.scale.toPixel(spread.x[at] ?? 0);
  for (let number = 0; number < 9; number++) {
    const height = y.scale.toPixel(spread.percentiles[at * 9 + number] ?? NaN);
    const radius = number === 4 ? 3.5 : 2;
    if (!Number.isNaN(height))
      pen.dot(place, height, radius, { color: spread.color, ring: palette.background });
  }
}

function highlightHeatCell(
  pen: Renderer,
  x: number,
  bin: number,
  grid: Float64Array,
  panel: Panel,
  palette: ChartTheme,
): void {
  drawStepLine(pen, x, panel, palette);
  if (bin < 0) return;
  const { x: across, y } = panel.layout;
  const [foot, top] = [y.scale.toPixel(grid[bin] ?? 0), y.scale.toPixel(grid[bin + 1] ?? 0)];
  const middle = across.scale.toPixel(x);
  const path = makePath(
    middle - 5,
    top,
    middle + 5,
    top,
    middle + 5,
    foot,
    middle - 5,
    foot,
    middle - 5,
    top,
  );
  pen.stroke(path, { color: palette.text, width: 1.25 });
}

function drawSelectionRect(pen: Renderer, box: Rect, { accent }: ChartTheme): void {
  pen.rect(box, { color: accent, opacity: 0.12 });
  const { left, top, width, height } = box;
  const [right, foot] = [left + width, top + height];
  const path = makePath(left, top, right, top, right, foot, left, foot, left, top);
  pen.stroke(path, { color: accent, width: 1 });
}
