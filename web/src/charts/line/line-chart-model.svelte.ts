import * as m from '../../catalog/charts';
import { formatRange, formatValue } from '../../lib/format';
import {
  type AxisSettings,
  type ChartContent,
  fitAxisY,
  getAxesAt,
  getDragAxes,
  getDragRect,
  panBy,
  resolveAxes,
  zoomAround,
  zoomToRect,
} from '../axes/domain';
import { countYTicks, layoutPlot, type PlotLayout } from '../axes/plot-axes';
import { formatAxisValue, type Scale } from '../axes/ticks';
import { measureText, type Point } from '../renderer/renderer';
import { CanvasSurface } from '../surface/canvas-surface.svelte';
import type { GestureHandlers } from '../surface/gestures';
import type { AxisLimits, ChartViewport, Line, LineChartProps } from '../types';
import {
  type EndLabels,
  findNearestLine,
  findNextX,
  type HasX,
  type LineOverlay,
  measureEndLabels,
} from './line-overlay';
import {
  findAnnotationAt,
  findMarkerAt,
  getAnnotationSpace,
  type PlacedLabel,
} from './line-renderer';

const NO_LABELS: EndLabels = new Map();
const UNLIMITED: AxisLimits = { low: null, high: null };
/** With more lines, highlighting dims the others. */
const DIM_OTHERS_FROM = 40;

/** State of a line chart, derived from its props, size and gestures. */
export class ChartModel {
  readonly surface = new CanvasSurface();
  /** The line nearest to the pointer. */
  nearestLineId = $state<string | null>(null);
  /** Text of the hovered marker or annotation. */
  hoverLabel = $state.raw<PlacedLabel | null>(null);
  drag = $state.raw<{ readonly from: Point; readonly to: Point } | null>(null);
  readonly #getProps: () => LineChartProps;
  readonly #zoom: () => ChartViewport | null;

  /** Props are read lazily, so that a moving cursor does not recompute the layout. */
  constructor(getProps: () => LineChartProps, zoom: () => ChartViewport | null) {
    this.#getProps = getProps;
    this.#zoom = zoom;
  }

  readonly content = $derived.by(() => {
    const { lines, bands = [], annotations = [], referenceLines = [] } = this.#getProps();
    return { lines, bands, annotations, referenceLines };
  });

  // Separate, so that a change of width does not refit the axes.
  readonly #yTickCount = $derived.by(() => countYTicks(this.surface.size.height));

  readonly settings = $derived.by<AxisSettings>(() => {
    const props = this.#getProps();
    return {
      xFormat: props.xFormat ?? 'number',
      xScale: props.xScale ?? 'linear',
      yScale: props.yScale ?? 'linear',
      y2Scale: props.y2Scale ?? 'linear',
      xLimits: props.xLimits ?? UNLIMITED,
      yLimits: props.yLimits ?? UNLIMITED,
      y2Limits: props.y2Limits ?? UNLIMITED,
      ignoreOutliers: props.ignoreOutliers ?? false,
      yTickCount: this.#yTickCount,
    };
  });

  readonly axes = $derived.by(() => resolveAxes(this.content, this.settings, this.#zoom()));
  readonly endLabels = $derived.by(() => this.#getProps().endLabels ?? NO_LABELS);
  readonly #margins = $derived.by(() => ({
    top: getAnnotationSpace(this.content.annotations),
    right: measureEndLabels(this.endLabels, measureText),
    bottom: 0,
    left: 0,
  }));
  readonly layout = $derived.by(() =>
    layoutPlot(this.axes, this.surface.size, measureText, this.#margins),
  );

  readonly #highlightedLines = $derived.by<readonly Line[]>(() => {
    const ids = [
      ...(this.#getProps().highlighted ?? []),
      ...(this.nearestLineId === null ? [] : [this.nearestLineId]),
    ];
    return ids.length === 0 ? [] : this.content.lines.filter(({ id }) => ids.includes(id));
  });

  readonly overlay = $derived.by<LineOverlay>(() => {
    const props = this.#getProps();
    const {
      cursor = null,
      pinned = null,
      range = null,
      hoverPoints = [],
      selectsRange = false,
    } = props;
    return {
      ...{ cursor, pinned, range, hoverPoints },
      dragRect: this.drag && getDragRect(this.layout, this.drag.from, this.drag.to, selectsRange),
      label: this.hoverLabel,
      highlighted: this.#highlightedLines,
      // With few lines, a wider line is enough.
      dimsOthers: this.nearestLineId === null || this.content.lines.length > DIM_OTHERS_FROM,
    };
  });
}

/** Return the gesture handlers of a chart. `setZoom` changes the viewport; null resets it. */
export function makeLineGestures(
  chart: ChartModel,
  getProps: () => LineChartProps,
  setZoom: (viewport: ChartViewport | null) => void,
): GestureHandlers {
  // A range below the resolution of doubles is ignored.
  const zoomTo = (viewport: ChartViewport | null): void => void (viewport && setZoom(viewport));
  const hover = (at: Point | null): void => {
    const { x, y } = chart.layout;
    chart.nearestLineId = at && findNearestLine(chart.content.lines, chart.layout, at);
    chart.hoverLabel = at && findLabelAt(chart, at);
    getProps().onhover?.(
      at && x.scale.toValue(at.x),
      at && y.scale.toValue(at.y),
      chart.nearestLineId,
    );
  };
  return {
    hover,
    click: (at) => getProps().onselect?.(chart.layout.x.scale.toValue(at.x)),
    drag(from, to) {
      chart.drag = { from, to };
      hover(to);
    },
    dragEnd(from, to) {
      chart.drag = null;
      const extent = zoomToRect(chart.layout, from, to);
      if (getProps().selectsRange) getProps().onrange?.(extent && extent.x);
      else if (getDragAxes(chart.layout, from, to) === 'x') zoomTo(extent && refitY(chart, extent));
      else zoomTo(extent);
    },
    dragCancel: () => void (chart.drag = null),
    pan: (dx, dy) => zoomTo(panBy(chart.layout, dx, dy)),
    zoom: (at, factor) => zoomTo(zoomAround(chart.layout, at, factor, getAxesAt(chart.layout, at))),
    resetZoom: () => setZoom(null),
    dragsByTouch: () => getProps().selectsRange ?? false,
  };
}

function findLabelAt({ content, layout }: ChartModel, at: Point): PlacedLabel | null {
  return (
    findMarkerAt(content.lines, layout, at) ?? findAnnotationAt(content.annotations, layout, at)
  );
}

/** Fit the y axes to the values of a new x range. */
function refitY({ content, settings }: ChartModel, { x, y2 }: ChartViewport): ChartViewport {
  const y = fitAxisY(content, settings, 0, x);
  return { x, y, ...(y2 ? { y2: fitAxisY(content, settings, 1, x) } : {}) };
}

/** Minimum movement of arrow keys, without and with Shift. */
const ARROW_STEP_PX = 1;
const SHIFT_ARROW_STEP_PX = 40;
const KEY_ZOOM_FACTOR = 1.5;
/** Zoom factors of keys; 0 resets the zoom. */
const ZOOM_KEYS: Readonly<Record<string, number>> = {
  '+': KEY_ZOOM_FACTOR,
  '=': KEY_ZOOM_FACTOR,
  '-': 1 / KEY_ZOOM_FACTOR,
  '0': 0,
};

/** Handle a key of a focused chart; other keys bubble up to the page. */
export function handleLineChartKey(
  event: KeyboardEvent,
  chart: ChartModel,
  gestures: GestureHandlers,
  props: LineChartProps,
): void {
  if (event.ctrlKey || event.metaKey) return;
  if (!moveCursor(event, chart, props) && !zoomByKey(event, chart, gestures, props)) return;
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

/** Return the next visible point; null for other keys. */
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

/** Zoom around the cursor or the center. */
function zoomByKey(
  { key }: KeyboardEvent,
  { layout }: ChartModel,
  gestures: GestureHandlers,
  { cursor, pinned }: LineChartProps,
): boolean {
  const factor = ZOOM_KEYS[key];
  const { left, top, width, height } = layout.plotArea;
  const at = cursor ?? pinned ?? null;
  const x = at === null ? left + width / 2 : layout.x.scale.toPixel(at);
  if (factor === 0) gestures.resetZoom();
  else if (factor !== undefined) gestures.zoom({ x, y: top + height / 2 }, factor);
  return factor !== undefined;
}

/** Describe a chart for screen readers. */
export function describeLineChart(
  label: string,
  { lines, bands }: ChartContent,
  layout: PlotLayout,
): string {
  const count = lines.length + bands.length;
  if (count === 0) return m.lineSummaryEmpty({ label });
  return m.lineSummary({
    label,
    count,
    xRange: formatRange(layout.x.scale.domain, (end) => formatAxisValue(end, layout.format)),
    yRange: formatRange(layout.y.scale.domain, formatValue),
  });
}
