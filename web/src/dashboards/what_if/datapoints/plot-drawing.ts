/**
 * Draws the axes and titles of the datapoint plot over the points, and the plot as an image in the light theme.
 */
import { makeTicks } from '../../../charts/axes/ticks';
import { renderPng, renderSvg } from '../../../charts/renderer/image-export';
import {
  type ChartTheme,
  LIGHT_THEME,
  makePath,
  type Point,
  type Raster,
  type Rect,
  type Renderer,
  type TextStyle,
} from '../../../charts/renderer/renderer';
import type { DatapointColors } from './datapoint-colors';
import type { Facet, PlotAxis, PlotCell, PlotMargins } from './plot-layout';

interface AxesContent {
  readonly width: number;
  readonly height: number;
  readonly margins: PlotMargins;
  readonly cells: readonly PlotCell[];
  readonly columns: number;
  readonly x: PlotAxis;
  readonly y: PlotAxis;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly facetX: Facet | null;
  readonly facetY: Facet | null;
  readonly theme: ChartTheme;
  toScreenX(px: number): number;
  toScreenY(px: number): number;
}

const LABEL_FONT = { size: 11 };
const TITLE_FONT = { size: 11, bold: true };
const TICK_GAP_PX = 70;
const LINE_PX = 16;
const MIN_LABEL_PX = 26;
/** Longer labels of facets are cut if they do not fit. */
const MAX_LABEL_PX = 120;
const LABEL_GAP_PX = 8;

/** The part of a cell on the screen along one axis. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function drawAxes(renderer: Renderer, content: AxesContent): void {
  const { width, height, margins, cells, columns, theme } = content;
  const { left, right, top, bottom } = margins;
  for (const box of [
    { left: 0, top: 0, width: left, height },
    { left: 0, top: height - bottom, width, height: bottom },
    { left: 0, top: 0, width, height: top },
    { left: width - right, top: 0, width: right, height },
  ])
    renderer.rect(box, { color: theme.background });
  const plot = {
    left: left - 1,
    top: top - 1,
    width: width - left - right + 2,
    height: height - top - bottom + 2,
  };
  renderer.clip(plot, () => {
    for (const cell of cells) {
      const x = Math.round(content.toScreenX(cell.left)) + 0.5;
      const y = Math.round(content.toScreenY(cell.top)) + 0.5;
      const endX = x + content.toScreenX(cell.left + cell.width) - content.toScreenX(cell.left);
      const endY = y + content.toScreenY(cell.top + cell.height) - content.toScreenY(cell.top);
      renderer.stroke(makePath(x, y, endX, y, endX, endY, x, endY, x, y), {
        color: theme.axis,
        width: 1,
      });
    }
  });
  let end = -Infinity;
  let lowest = -Infinity;
  const [first] = cells;
  const { facetX, facetY } = content;
  const facetWidth = first ? content.toScreenX(first.width) - content.toScreenX(0) : 1;
  const facetHeight = first ? content.toScreenY(first.height) - content.toScreenY(0) : 1;
  const stepX = getLabelStep(renderer, facetWidth, facetX?.labels ?? []);
  const stepY = getLabelStep(renderer, facetHeight, facetY?.labels ?? []);
  for (let column = 0; column < columns; column++) {
    const cell = cells[column];
    if (cell) end = drawColumn(renderer, content, cell, column, stepX, end);
  }
  for (let line = 0; line * columns < cells.length; line++) {
    const cell = cells[line * columns];
    if (cell) lowest = drawLine(renderer, content, cell, line, stepY, lowest);
  }
  drawTitles(renderer, content);
}

/**
 * Return how many facets share the space of one label, so that labels neither overlap nor are cut,
 * unless they are long.
 */
function getLabelStep(renderer: Renderer, facetPx: number, labels: readonly string[]): number {
  const widest = Math.max(0, ...labels.map((text) => renderer.measureText(text, LABEL_FONT)));
  const needed = Math.min(widest + LABEL_GAP_PX, MAX_LABEL_PX);
  return Math.max(1, Math.ceil(Math.max(MIN_LABEL_PX, needed) / facetPx));
}

/** Draw the ticks below a column that are after the end of the last one; return the new end. */
function drawColumn(
  renderer: Renderer,
  content: AxesContent,
  cell: PlotCell,
  column: number,
  step: number,
  end: number,
): number {
  const { margins, width, height, x, facetX, theme } = content;
  const stretch = {
    from: content.toScreenX(cell.left),
    to: content.toScreenX(cell.left + cell.width),
  };
  const limits = { from: margins.left, to: width - margins.right };
  const style: TextStyle = { ...LABEL_FONT, color: theme.label, align: 'center', baseline: 'top' };
  let previousEnd = end;
  for (const { at, label } of listTicks(x, stretch, limits, false)) {
    const text = fit(
      renderer,
      label,
      LABEL_FONT,
      x.kind === 'category' ? getBand(x, stretch) : Infinity,
    );
    const half = renderer.measureText(text, LABEL_FONT) / 2;
    if (at - half < previousEnd + 6) continue;
    previousEnd = at + half;
    renderer.text(text, at, height - margins.bottom + 6, style);
  }
  if (!facetX || column % step > 0) return previousEnd;
  const middle = (stretch.from + stretch.to) / 2;
  const text = fit(
    renderer,
    facetX.labels[column] ?? '',
    LABEL_FONT,
    step * (stretch.to - stretch.from),
  );
  if (middle > limits.from && middle < limits.to)
    renderer.text(text, middle, margins.top - 4, {
      ...style,
      color: theme.text,
      baseline: 'bottom',
    });
  return previousEnd;
}

/** Draw the ticks beside a line of cells that are below the last one; return the new last one. */
function drawLine(
  renderer: Renderer,
  content: AxesContent,
  cell: PlotCell,
  line: number,
  step: number,
  last: number,
): number {
  const { margins, width, height, y, facetY, theme } = content;
  const stretch = {
    from: content.toScreenY(cell.top + cell.height),
    to: content.toScreenY(cell.top),
  };
  const limits = { from: height - margins.bottom, to: margins.top };
  let previous = Infinity;
  let lowest = last;
  for (const { at, label } of listTicks(y, stretch, limits, true)) {
    if (Math.abs(previous - at) < LINE_PX || at - last < LINE_PX) continue;
    previous = at;
    lowest = Math.max(lowest, at);
    renderer.text(fit(renderer, label, LABEL_FONT, margins.left - 22), margins.left - 6, at, {
      ...LABEL_FONT,
      color: theme.label,
      align: 'right',
      baseline: 'middle',
    });
  }
  if (!facetY || line % step > 0) return lowest;
  const text = fit(
    renderer,
    facetY.labels[line] ?? '',
    LABEL_FONT,
    step * (stretch.from - stretch.to),
  );
  renderer.text(text, width - margins.right + 12, (stretch.from + stretch.to) / 2, {
    ...LABEL_FONT,
    color: theme.text,
    align: 'center',
    baseline: 'middle',
    vertical: true,
  });
  return lowest;
}

function drawTitles(renderer: Renderer, content: AxesContent): void {
  const { margins, width, height, xTitle, yTitle, theme } = content;
  const plotWidth = width - margins.left - margins.right;
  const plotHeight = height - margins.top - margins.bottom;
  const style: TextStyle = {
    ...TITLE_FONT,
    color: theme.text,
    align: 'center',
    baseline: 'bottom',
  };
  const xText = fit(renderer, xTitle, TITLE_FONT, plotWidth);
  renderer.text(xText, margins.left + plotWidth / 2, height - 3, style);
  const yText = fit(renderer, yTitle, TITLE_FONT, plotHeight);
  renderer.text(yText, 3, margins.top + plotHeight / 2, {
    ...style,
    baseline: 'top',
    vertical: true,
  });
}

/** Return the ticks of the visible part of an axis, with their position on the screen. */
function listTicks(
  axis: PlotAxis,
  { from, to }: Stretch,
  limits: Stretch,
  isVertical: boolean,
): { readonly at: number; readonly label: string }[] {
  if (axis.kind === 'none' || from === to) return [];
  const sign = Math.sign(to - from);
  const start = sign > 0 ? Math.max(from, limits.from) : Math.min(from, limits.from);
  const end = sign > 0 ? Math.min(to, limits.to) : Math.max(to, limits.to);
  if ((end - start) * sign <= 0) return [];
  const toScreen = (place: number): number => from + place * (to - from);
  if (axis.kind === 'category') {
    return axis.categories.flatMap((label, at) => {
      const position = toScreen((at + 0.5) / axis.categories.length);
      return (position - start) * sign < 0 || (position - end) * sign > 0
        ? []
        : [{ at: position, label }];
    });
  }
  const [low, high] = axis.domain;
  const toValue = (position: number): number =>
    low + ((position - from) / (to - from)) * (high - low);
  const gap = isVertical ? TICK_GAP_PX / 2 : TICK_GAP_PX;
  const count = Math.max(2, Math.floor(Math.abs(end - start) / gap));
  return makeTicks('linear', 'number', [toValue(start), toValue(end)], count).map(
    ({ value, label }) => ({ at: toScreen((value - low) / (high - low)), label }),
  );
}

function getBand({ categories }: PlotAxis, { from, to }: Stretch): number {
  return Math.max(MIN_LABEL_PX, Math.abs(to - from) / Math.max(1, categories.length));
}

function fit(
  renderer: Renderer,
  text: string,
  font: Pick<TextStyle, 'size' | 'bold'>,
  width: number,
): string {
  if (renderer.measureText(text, font) <= width) return text;
  let short = text;
  while (short.length > 1 && renderer.measureText(`${short}…`, font) > width) {
    short = short.slice(0, -1);
  }
  return `${short}…`;
}

export interface PlotImage {
  /** The axes; their theme is replaced. */
  readonly axes: Omit<AxesContent, 'theme'>;
  /** `x y` of each point; NaN if it is not visible. */
  readonly xy: Float32Array;
  readonly colors: DatapointColors;
  readonly colorTitle: string;
  readonly pointSize: number;
  /** Circles around chosen points. */
  readonly rings: readonly {
    readonly at: Point;
    readonly radius: number;
    readonly color: string;
    readonly label: string;
  }[];
  /** The points as drawn, if there are too many for single shapes, or images in their place. */
  readonly raster: Raster | null;
}

/** With more points, an SVG has them as one picture; it would take seconds to open otherwise. */
export const MAX_SHAPES = 20_000;

const MARGIN = 16;
const TITLE_HEIGHT = 36;
const LEGEND_HEIGHT = 24;
const FONT = { size: 11.5 };
const RAMP_WIDTH = 120;

export function exportPlotSvg(
  content: PlotImage,
  title: string,
  measure?: Renderer['measureText'],
): string {
  const draw = (renderer: Renderer) => drawPlot(renderer, content, title);
  return renderSvg(getSize(content), title, draw, measure);
}

export function exportPlotPng(content: PlotImage, title: string): Promise<Blob> {
  return renderPng(getSize(content), (renderer) => drawPlot(renderer, content, title));
}

function getSize({ axes }: PlotImage): { width: number; height: number } {
  return { width: axes.width, height: axes.height + TITLE_HEIGHT + LEGEND_HEIGHT };
}

function drawPlot(renderer: Renderer, content: PlotImage, title: string): void {
  const size = getSize(content);
  const { background, text } = LIGHT_THEME;
  renderer.rect({ left: 0, top: 0, ...size }, { color: background });
  renderer.text(title, MARGIN, 12, {
    ...{ size: 15, bold: true, color: text, align: 'left', baseline: 'top' },
  });
  drawLegend(renderer, content, size.width);
  renderer.translate({ x: 0, y: TITLE_HEIGHT + LEGEND_HEIGHT }, () => {
    drawPoints(renderer, content);
    drawAxes(renderer, { ...content.axes, theme: LIGHT_THEME });
    drawRings(renderer, content);
  });
}

function drawPoints(renderer: Renderer, { axes, xy, colors, pointSize, raster }: PlotImage): void {
  const { margins, width, height } = axes;
  const plot: Rect = {
    left: margins.left,
    top: margins.top,
    width: width - margins.left - margins.right,
    height: height - margins.top - margins.bottom,
  };
  renderer.clip(plot, () => {
    if (raster) {
      renderer.image(raster, { left: 0, top: 0, width, height });
      return;
    }
    for (let at = 0; 2 * at < xy.length; at++) {
      const [x = NaN, y = NaN] = [xy[2 * at], xy[2 * at + 1]];
      const alpha = colors.rgba[4 * at + 3] ?? 0;
      if (Number.isNaN(x + y) || alpha === 0) continue;
      renderer.dot(x, y, pointSize / 2, { color: formatColor(colors.rgba, at) });
    }
  });
}

function formatColor(rgba: Uint8Array, at: number): string {
  const [red = 0, green = 0, blue = 0, alpha = 255] = rgba.subarray(4 * at, 4 * at + 4);
  const parts = alpha === 255 ? [red, green, blue] : [red, green, blue, alpha];
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

function drawRings(renderer: Renderer, { rings }: PlotImage): void {
  for (const { at, radius, color, label } of rings) {
    const points = Array.from({ length: 33 }, (_, step) => {
      const angle = (step / 32) * 2 * Math.PI;
      return [at.x + radius * Math.cos(angle), at.y + radius * Math.sin(angle)];
    });
    const outline = Float32Array.from(points.flat());
    renderer.stroke({ points: outline, length: outline.length }, { color, width: 1.75 });
    renderer.text(label, at.x + radius + 3, at.y, {
      ...{ size: 12, bold: true, color: LIGHT_THEME.text, align: 'left', baseline: 'middle' },
    });
  }
}

function drawLegend(renderer: Renderer, { colors, colorTitle }: PlotImage, width: number): void {
  const { entries, more, ramp } = colors;
  if (entries.length === 0 && !ramp) return;
  const middle = TITLE_HEIGHT + LEGEND_HEIGHT / 2;
  let left = MARGIN;
  const write = (text: string, gap: number, style = { color: LIGHT_THEME.text, bold: false }) => {
    renderer.text(text, left, middle, { ...FONT, ...style, align: 'left', baseline: 'middle' });
    left += renderer.measureText(text, { ...FONT, bold: style.bold }) + gap;
  };
  write(colorTitle, 12, { color: LIGHT_THEME.text, bold: true });
  if (ramp) {
    write(ramp.from, 6);
    const step = RAMP_WIDTH / ramp.colors.length;
    for (const color of ramp.colors) {
      renderer.rect({ left, top: middle - 5, width: step + 0.5, height: 10 }, { color });
      left += step;
    }
    left += 6;
    write(ramp.to, 0);
    return;
  }
  for (const [at, { name, color }] of entries.entries()) {
    const end = left + 14 + renderer.measureText(name, FONT);
    if (end > width - MARGIN) {
      write(`+${entries.length - at + more}`, 0);
      return;
    }
    renderer.dot(left + 5, middle, 5, { color });
    left += 14;
    write(name, 14);
  }
  if (more > 0) write(`+${more}`, 0);
}
