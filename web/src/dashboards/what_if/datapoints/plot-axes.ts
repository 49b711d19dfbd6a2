/** Draws the axes of the datapoint plot, and the titles of its facets, over the points. */
import { makeTicks } from '../../../charts/axes/ticks';
import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import { FONT_FAMILY } from '../../../charts/renderer/renderer';
import type { Facet, PlotAxis, PlotCell, PlotMargins } from './plot-layout';

export interface AxesContent {
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

const FONT = `11px ${FONT_FAMILY}`;
const TITLE_FONT = `600 11px ${FONT_FAMILY}`;
const TICK_GAP_PX = 70;
const LINE_PX = 16;
const MIN_LABEL_PX = 26;

/** The part of a cell on the screen along one axis. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function drawAxes(canvas: CanvasRenderingContext2D, content: AxesContent): void {
  const { width, height, margins, cells, columns, theme } = content;
  const { left, right, top, bottom } = margins;
  canvas.fillStyle = theme.background;
  canvas.fillRect(0, 0, left, height);
  canvas.fillRect(0, height - bottom, width, bottom);
  canvas.fillRect(0, 0, width, top);
  canvas.fillRect(width - right, 0, right, height);
  canvas.strokeStyle = theme.axis;
  canvas.lineWidth = 1;
  canvas.save();
  canvas.beginPath();
  canvas.rect(left - 1, top - 1, width - left - right + 2, height - top - bottom + 2);
  canvas.clip();
  for (const cell of cells) {
    const x = content.toScreenX(cell.left);
    const y = content.toScreenY(cell.top);
    canvas.strokeRect(
      Math.round(x) + 0.5,
      Math.round(y) + 0.5,
      content.toScreenX(cell.left + cell.width) - x,
      content.toScreenY(cell.top + cell.height) - y,
    );
  }
  canvas.restore();
  canvas.font = FONT;
  canvas.fillStyle = theme.label;
  for (let column = 0; column < columns; column++) {
    const cell = cells[column];
    if (cell) drawColumn(canvas, content, cell, column);
  }
  for (let line = 0; line * columns < cells.length; line++) {
    const cell = cells[line * columns];
    if (cell) drawLine(canvas, content, cell, line);
  }
  drawTitles(canvas, content);
}

function drawColumn(
  canvas: CanvasRenderingContext2D,
  content: AxesContent,
  cell: PlotCell,
  column: number,
): void {
  const { margins, width, height, x, facetX, theme } = content;
  const stretch = {
    from: content.toScreenX(cell.left),
    to: content.toScreenX(cell.left + cell.width),
  };
  const limits = { from: margins.left, to: width - margins.right };
  canvas.textAlign = 'center';
  canvas.textBaseline = 'top';
  let previousEnd = -Infinity;
  for (const { at, label } of listTicks(x, stretch, limits, false)) {
    const text = fit(canvas, label, x.kind === 'category' ? getBand(x, stretch) : Infinity);
    const half = canvas.measureText(text).width / 2;
    if (at - half < previousEnd + 6) continue;
    previousEnd = at + half;
    canvas.fillText(text, at, height - margins.bottom + 6);
  }
  if (!facetX) return;
  canvas.fillStyle = theme.text;
  canvas.textBaseline = 'bottom';
  const middle = (stretch.from + stretch.to) / 2;
  const text = fit(canvas, facetX.labels[column] ?? '', stretch.to - stretch.from);
  if (middle > limits.from && middle < limits.to) canvas.fillText(text, middle, margins.top - 4);
  canvas.fillStyle = theme.label;
}

function drawLine(
  canvas: CanvasRenderingContext2D,
  content: AxesContent,
  cell: PlotCell,
  line: number,
): void {
  const { margins, width, height, y, facetY, theme } = content;
  const stretch = {
    from: content.toScreenY(cell.top + cell.height),
    to: content.toScreenY(cell.top),
  };
  const limits = { from: height - margins.bottom, to: margins.top };
  canvas.textAlign = 'right';
  canvas.textBaseline = 'middle';
  let previous = Infinity;
  for (const { at, label } of listTicks(y, stretch, limits, true)) {
    if (Math.abs(previous - at) < LINE_PX) continue;
    previous = at;
    canvas.fillText(fit(canvas, label, margins.left - 22), margins.left - 6, at);
  }
  if (!facetY) return;
  canvas.save();
  canvas.fillStyle = theme.text;
  canvas.textAlign = 'center';
  canvas.translate(width - margins.right + 9, (stretch.from + stretch.to) / 2);
  canvas.rotate(Math.PI / 2);
  canvas.fillText(fit(canvas, facetY.labels[line] ?? '', stretch.from - stretch.to), 0, 0);
  canvas.restore();
}

function drawTitles(canvas: CanvasRenderingContext2D, content: AxesContent): void {
  const { margins, width, height, xTitle, yTitle, theme } = content;
  canvas.font = TITLE_FONT;
  canvas.fillStyle = theme.text;
  canvas.textBaseline = 'bottom';
  canvas.textAlign = 'center';
  const plotWidth = width - margins.left - margins.right;
  canvas.fillText(fit(canvas, xTitle, plotWidth), margins.left + plotWidth / 2, height - 3);
  canvas.save();
  canvas.textBaseline = 'top';
  canvas.translate(3, margins.top + (height - margins.top - margins.bottom) / 2);
  canvas.rotate(-Math.PI / 2);
  canvas.fillText(fit(canvas, yTitle, height - margins.top - margins.bottom), 0, 0);
  canvas.restore();
}

/** Return the ticks of the visible part of an axis, with their position on the screen. */
export function listTicks(
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

function fit(canvas: CanvasRenderingContext2D, text: string, width: number): string {
  if (canvas.measureText(text).width <= width) return text;
  let short = text;
  while (short.length > 1 && canvas.measureText(`${short}…`).width > width) {
    short = short.slice(0, -1);
  }
  return `${short}…`;
}
