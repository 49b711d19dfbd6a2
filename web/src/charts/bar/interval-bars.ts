import { niceRange, makeTicks, type Tick } from '../axes/ticks';
import type { Size } from '../axes/plot-axes';
import {
  type ChartTheme,
  makePath,
  type Point,
  type Rect,
  type Renderer,
} from '../renderer/renderer';
import type { NumberRange } from '../types';

/** A value with its interval; NaN ends mean that there is none. */
export interface IntervalBar {
  readonly id: string;
  /** The series that it belongs to. */
  readonly label: string;
  readonly color: string;
  readonly value: number;
  readonly lower: number;
  readonly upper: number;
}

/** Bars that share a label. */
export interface IntervalBarGroup {
  readonly id: string;
  readonly label: string;
  readonly isBold?: boolean;
  readonly isFaded?: boolean;
  readonly bars: readonly IntervalBar[];
}

export interface IntervalBarsContent {
  readonly groups: readonly IntervalBarGroup[];
  /** Values that bars are compared with, drawn as vertical lines. */
  readonly references: readonly { readonly value: number; readonly color: string }[];
}

export interface PlacedBar {
  readonly group: IntervalBarGroup;
  readonly bar: IntervalBar;
  /** The whole row, for the pointer. */
  readonly row: Rect;
}

export interface HoveredBar {
  readonly placed: PlacedBar;
  /** On the screen, in pixels. */
  readonly position: { readonly left: number; readonly top: number };
}

export interface IntervalBarsLayout {
  readonly size: Size;
  readonly plot: Rect;
  readonly domain: NumberRange;
  readonly ticks: readonly Tick[];
  readonly bars: readonly PlacedBar[];
  readonly labels: readonly {
    readonly text: string;
    readonly group: IntervalBarGroup;
    y: number;
  }[];
}

const BAR_HEIGHT = 13;
const BAR_GAP = 2;
const GROUP_GAP = 9;
const AXIS_HEIGHT = 24;
const TOP = 6;
const RIGHT = 14;
const FONT_SIZE = 12;
const TICK_FONT_SIZE = 10.5;
const MAX_LABEL_SHARE = 0.4;
const CAP = 3;

/** Return the height that a chart needs to show all of its bars. */
export function computeIntervalBarsHeight(groups: readonly IntervalBarGroup[]): number {
  const inner = groups.reduce(
    (sum, { bars }) => sum + bars.length * (BAR_HEIGHT + BAR_GAP) + GROUP_GAP,
    0,
  );
  return TOP + inner + AXIS_HEIGHT;
}

/** Return where everything goes. The axis always includes 0. */
export function layoutIntervalBars(
  { groups, references }: IntervalBarsContent,
  width: number,
  measure: Renderer['measureText'],
): IntervalBarsLayout {
  const size = { width, height: computeIntervalBarsHeight(groups) };
  const widths = groups.map(({ label, isBold }) =>
    measure(label, { size: FONT_SIZE, ...(isBold ? { bold: true } : {}) }),
  );
  const labelWidth = Math.min(Math.max(40, ...widths), width * MAX_LABEL_SHARE);
  const left = Math.ceil(labelWidth) + 14;
  const plot = {
    left,
    top: TOP,
    width: Math.max(20, width - left - RIGHT),
    height: size.height - TOP - AXIS_HEIGHT,
  };
  const domain = computeDomain(groups, references);
  const ticks = makeTicks('linear', 'number', domain, Math.max(2, Math.round(plot.width / 80)));
  const bars: PlacedBar[] = [];
  const labels: { text: string; group: IntervalBarGroup; y: number }[] = [];
  let top = TOP + GROUP_GAP / 2;
  for (const group of groups) {
    const height = group.bars.length * (BAR_HEIGHT + BAR_GAP);
    labels.push({ text: fitText(group.label, labelWidth, measure), group, y: top + height / 2 });
    for (const bar of group.bars) {
      bars.push({ group, bar, row: { left: 0, top, width, height: BAR_HEIGHT + BAR_GAP } });
      top += BAR_HEIGHT + BAR_GAP;
    }
    top += GROUP_GAP;
  }
  return { size, plot, domain, ticks, bars, labels };
}

function computeDomain(
  groups: readonly IntervalBarGroup[],
  references: IntervalBarsContent['references'],
): NumberRange {
  const values = groups
    .flatMap(({ bars }) => bars.flatMap(({ value, lower, upper }) => [value, lower, upper]))
    .concat(references.map(({ value }) => value))
    .filter(Number.isFinite);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  return low === high ? [0, 1] : niceRange([low, high], 5);
}

function fitText(text: string, width: number, measure: Renderer['measureText']): string {
  if (measure(text, { size: FONT_SIZE }) <= width) return text;
  let length = text.length;
  while (length > 1 && measure(`${text.slice(0, length)}…`, { size: FONT_SIZE }) > width) length--;
  return `${text.slice(0, length)}…`;
}

export function toPixel({ plot, domain }: IntervalBarsLayout, value: number): number {
  return plot.left + ((value - domain[0]) / (domain[1] - domain[0])) * plot.width;
}

/** Return the position of the bar at a point. */
export function findBarAt({ bars }: IntervalBarsLayout, { y }: Point): number | null {
  const at = bars.findIndex(({ row }) => y >= row.top && y < row.top + row.height);
  return at < 0 ? null : at;
}

/** Draw the chart; `hovered` is the position of a bar. */
export function drawIntervalBars(
  pen: Renderer,
  layout: IntervalBarsLayout,
  references: IntervalBarsContent['references'],
  theme: ChartTheme,
  hovered: number | null = null,
): void {
  const { plot, ticks, bars, labels } = layout;
  const bottom = plot.top + plot.height;
  for (const { value, label } of ticks) {
    const x = toPixel(layout, value);
    const color = value === 0 ? theme.axis : theme.grid;
    pen.stroke(makePath(x, plot.top, x, bottom), { color, width: 1 });
    const style = { size: TICK_FONT_SIZE, align: 'center', baseline: 'top' } as const;
    pen.text(label, x, bottom + 6, { ...style, color: theme.label });
  }
  const place = hovered === null ? undefined : bars[hovered];
  if (place) pen.rect(place.row, { color: theme.grid, opacity: 0.6, radius: 3 });
  for (const { text, group, y } of labels) {
    const color = group.isFaded ? theme.label : theme.text;
    const style = { size: FONT_SIZE, align: 'right', baseline: 'middle' } as const;
    pen.text(text, plot.left - 8, y, { ...style, color, ...(group.isBold ? { bold: true } : {}) });
  }
  for (const placed of bars) drawBar(pen, layout, placed, theme);
  for (const { value, color } of references) {
    if (!Number.isFinite(value)) continue;
    const x = toPixel(layout, value);
    pen.stroke(makePath(x, plot.top, x, bottom), { color, width: 1.2, dash: [4, 3] });
  }
}

function drawBar(
  pen: Renderer,
  layout: IntervalBarsLayout,
  { group, bar, row }: PlacedBar,
  theme: ChartTheme,
): void {
  const middle = row.top + BAR_HEIGHT / 2;
  const zero = toPixel(layout, 0);
  if (!Number.isFinite(bar.value)) {
    const style = { size: TICK_FONT_SIZE, align: 'left', baseline: 'middle' } as const;
    pen.text('NaN', zero + 4, middle, { ...style, color: theme.label });
    return;
  }
  const end = toPixel(layout, bar.value);
  const box = {
    left: Math.min(zero, end),
    top: row.top + 1,
    width: Math.max(1, Math.abs(end - zero)),
    height: BAR_HEIGHT - 2,
  };
  pen.rect(box, { color: bar.color, opacity: group.isFaded ? 0.35 : 0.8, radius: 2 });
  if (!Number.isFinite(bar.lower) || !Number.isFinite(bar.upper)) return;
  const [from, to] = [toPixel(layout, bar.lower), toPixel(layout, bar.upper)];
  const style = { color: theme.text, width: 1.2 };
  pen.stroke(makePath(from, middle, to, middle), style);
  pen.stroke(makePath(from, middle - CAP, from, middle + CAP), style);
  pen.stroke(makePath(to, middle - CAP, to, middle + CAP), style);
}
