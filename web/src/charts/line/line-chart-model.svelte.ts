import { formatPlural, formatValue } from '../../lib/format';
import { type AxisSettings, type ChartContent, fitAxisY, resolveAxes } from '../axes/domain';
import { countYTicks, layoutPlot, type PlotLayout } from '../axes/plot-layout';
import type { Scale } from '../axes/scale';
import { formatAxisValue } from '../axes/ticks';
import { getAxesAt, getDragAxes, getDragRect, panBy, zoomAround, zoomToRect } from '../axes/zoom';
import { measureText, type Point } from '../renderer/renderer';
import { CanvasSurface } from '../surface/canvas-surface.svelte';
import type { GestureHandlers } from '../surface/gestures';
import type { AxisLimits, ChartViewport, Line, LineChartProps } from '../types';
import { findNearestLine, findNextX, type HasX } from './line-hit-test';
import type { LineOverlay, OverlayLabel } from './line-overlay';
import { findAnnotationAt, findMarkerAt } from './line-renderer';

const UNLIMITED: AxisLimits = { low: null, high: null };
/** Among so many lines one is only found when the others step back. */
const DIM_OTHERS_FROM = 40;

/** Everything that follows from what a chart was given, where it stands and what a hand does. */
export class ChartModel {
  readonly surface = new CanvasSurface();
  /** The line under the pointer. */
  nearestLineId = $state<string | null>(null);
  /** What the mark or flag under the pointer says. */
  hoverLabel = $state.raw<OverlayLabel | null>(null);
  drag = $state.raw<{ readonly from: Point; readonly to: Point } | null>(null);
  readonly #given: () => LineChartProps;
  readonly #zoom: () => ChartViewport | null;

  /** Only what is read of `given` counts: a cursor that moves must not lay out the chart anew. */
  constructor(given: () => LineChartProps, zoom: () => ChartViewport | null) {
    this.#given = given;
    this.#zoom = zoom;
  }

  readonly content = $derived.by(() => {
    const { lines, bands = [], annotations = [], referenceLines = [] } = this.#given();
    return { lines, bands, annotations, referenceLines };
  });

  // Of its own, so that a chart whose width changes is not fitted anew.
  readonly #rows = $derived.by(() => countYTicks(this.surface.size.height));

  readonly settings = $derived.by<AxisSettings>(() => {
    const given = this.#given();
    return {
      xFormat: given.xFormat ?? 'number',
      xScale: given.xScale ?? 'linear',
      yScale: given.yScale ?? 'linear',
      y2Scale: given.y2Scale ?? 'linear',
      xLimits: given.xLimits ?? UNLIMITED,
      yLimits: given.yLimits ?? UNLIMITED,
      y2Limits: given.y2Limits ?? UNLIMITED,
      ignoreOutliers: given.ignoreOutliers ?? false,
      yTickCount: this.#rows,
    };
  });

  readonly axes = $derived.by(() => resolveAxes(this.content, this.settings, this.#zoom()));
  readonly layout = $derived.by(() => layoutPlot(this.axes, this.surface.size, measureText));

  readonly #outstanding = $derived.by<readonly Line[]>(() => {
    const ids = [
      ...(this.#given().highlighted ?? []),
      ...(this.nearestLineId === null ? [] : [this.nearestLineId]),
    ];
    return ids.length === 0 ? [] : this.content.lines.filter(({ id }) => ids.includes(id));
  });

  readonly overlay = $derived.by<LineOverlay>(() => {
    const given = this.#given();
    const {
      cursor = null,
      pinned = null,
      range = null,
      hoverPoints = [],
      selectsRange = false,
    } = given;
    return {
      ...{ cursor, pinned, range, hoverPoints },
      dragRect: this.drag && getDragRect(this.layout, this.drag.from, this.drag.to, selectsRange),
      label: this.hoverLabel,
      highlighted: this.#outstanding,
      // Where few lines are under the pointer itself, a wider line is enough.
      dimsOthers: this.nearestLineId === null || this.content.lines.length > DIM_OTHERS_FROM,
    };
  });
}

/** What gestures do to a chart. `show` changes what is seen of it; null shows all. */
export function makeLineGestures(
  chart: ChartModel,
  given: () => LineChartProps,
  show: (extent: ChartViewport | null) => void,
): GestureHandlers {
  // A step too fine for numbers leaves what is seen as it is.
  const showSome = (extent: ChartViewport | null): void => void (extent && show(extent));
  const hover = (at: Point | null): void => {
    const { x, y } = chart.layout;
    chart.nearestLineId = at && findNearestLine(chart.content.lines, chart.layout, at);
    chart.hoverLabel = at && findLabelAt(chart, at);
    given().onhover?.(
      at && x.scale.toValue(at.x),
      at && y.scale.toValue(at.y),
      chart.nearestLineId,
    );
  };
  return {
    hover,
    click: (at) => given().onselect?.(chart.layout.x.scale.toValue(at.x)),
    drag(from, to) {
      chart.drag = { from, to };
      hover(to);
    },
    dragEnd(from, to) {
      chart.drag = null;
      const extent = zoomToRect(chart.layout, from, to);
      if (given().selectsRange) given().onrange?.(extent && extent.x);
      else if (getDragAxes(chart.layout, from, to) === 'x')
        showSome(extent && refitY(chart, extent));
      else showSome(extent);
    },
    dragCancel: () => void (chart.drag = null),
    pan: (dx, dy) => showSome(panBy(chart.layout, dx, dy)),
    zoom: (at, factor) =>
      showSome(zoomAround(chart.layout, at, factor, getAxesAt(chart.layout, at))),
    resetZoom: () => show(null),
    dragsByTouch: () => given().selectsRange ?? false,
  };
}

function findLabelAt({ content, layout }: ChartModel, at: Point): OverlayLabel | null {
  return (
    findMarkerAt(content.lines, layout, at) ?? findAnnotationAt(content.annotations, layout, at)
  );
}

/** Who zooms along the horizontal axis wants to see all there is at that place. */
function refitY({ content, settings }: ChartModel, { x, y2 }: ChartViewport): ChartViewport {
  const y = fitAxisY(content, settings, 0, x);
  return { x, y, ...(y2 ? { y2: fitAxisY(content, settings, 1, x) } : {}) };
}

/** Pixels that an arrow key moves at least, alone and with shift. */
const ARROW_STEP_PX = 1;
const SHIFT_ARROW_STEP_PX = 40;
const KEY_ZOOM_FACTOR = 1.5;
/** How many times larger a key shows a chart; 0 shows all of it. */
const ZOOM_KEYS: Readonly<Record<string, number>> = {
  '+': KEY_ZOOM_FACTOR,
  '=': KEY_ZOOM_FACTOR,
  '-': 1 / KEY_ZOOM_FACTOR,
  '0': 0,
};

/** Does what a key means to a chart that has the focus; other keys go on to the page. */
export function handleLineChartKey(
  event: KeyboardEvent,
  chart: ChartModel,
  hand: GestureHandlers,
  given: LineChartProps,
): void {
  if (event.ctrlKey || event.metaKey) return;
  if (!moveCursor(event, chart, given) && !zoomByKey(event, chart, hand, given)) return;
  event.preventDefault();
  event.stopPropagation();
}

function moveCursor(
  event: KeyboardEvent,
  { content, layout }: ChartModel,
  { cursor = null, pinned = null, onselect, onhover }: LineChartProps,
): boolean {
  const isPick = event.key === 'Enter' && cursor !== null;
  if (isPick) onselect?.(cursor);
  const next = getNextCursor(
    event,
    [...content.bands, ...content.lines],
    layout.x.scale,
    cursor ?? pinned,
  );
  if (next !== null) onhover?.(next, null, null);
  return isPick || next !== null;
}

/** To the next point that is seen; null for keys that are no arrows. */
function getNextCursor(
  { key, shiftKey }: KeyboardEvent,
  lines: readonly HasX[],
  scale: Scale,
  cursor: number | null,
): number | null {
  const [low, high] = scale.domain;
  if (key === 'Home') return low;
  if (key === 'End') return high;
  const sign = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (sign === undefined) return null;
  if (cursor === null) return sign > 0 ? low : high;
  const pixels = sign * (shiftKey ? SHIFT_ARROW_STEP_PX : ARROW_STEP_PX);
  const step = scale.toValue(scale.toPixel(cursor) + pixels) - cursor;
  const next = findNextX(lines, cursor, step) ?? (sign > 0 ? high : low);
  return Math.max(low, Math.min(high, next));
}

/** Around the cursor, or the middle of what is seen. */
function zoomByKey(
  { key }: KeyboardEvent,
  { layout }: ChartModel,
  hand: GestureHandlers,
  { cursor, pinned }: LineChartProps,
): boolean {
  const factor = ZOOM_KEYS[key];
  const { left, top, width, height } = layout.plotArea;
  const at = cursor ?? pinned ?? null;
  const x = at === null ? left + width / 2 : layout.x.scale.toPixel(at);
  if (factor === 0) hand.resetZoom();
  else if (factor !== undefined) hand.zoom({ x, y: top + height / 2 }, factor);
  return factor !== undefined;
}

/** A chart in a sentence. */
export function describeLineChart(
  label: string,
  { lines, bands }: ChartContent,
  layout: PlotLayout,
): string {
  const count = lines.length + bands.length;
  if (count === 0) return `${label}: no lines`;
  const across = layout.x.scale.domain
    .map((end) => formatAxisValue(end, layout.format))
    .join(' to ');
  const up = layout.y.scale.domain.map((end) => formatValue(end)).join(' to ');
  return `${label}: ${formatPlural(count, 'line')}, ${across} across, ${up} up`;
}
