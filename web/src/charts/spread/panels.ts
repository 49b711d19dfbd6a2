import { makeScale, type Scale } from '../axis/scale';
import { type Tick, ticksOf } from '../axis/ticks';
import type { Box, Pen } from '../pen/pen';
import { LABEL_GAP, LABEL_SIZE, type Layout, type Margins, type Size } from '../picture/layout';
import type { Span, XFormat } from '../types';
import { type Ends, findEnds } from './ends';
import { isFlat, type SpreadContent, type SpreadView } from './types';

/** One of the small charts that a chart of several runs is made of; their axes are the same. */
export interface Panel {
  /** Numbers of the spreads that it shows. */
  readonly spreads: readonly number[];
  readonly layout: Layout;
  /** Where its name is written; null for one that is alone. */
  readonly title: Box | null;
}

export interface PanelSet {
  readonly ends: Ends;
  readonly panels: readonly Panel[];
}

const NONE: Margins = { top: 0, right: 0, bottom: 0, left: 0 };
const TOP = 6;
const FOOT = 20;
const GAP = 10;
const TITLE = 15;
const SIDE = 34;
const EDGE = 10;
/** How much of its panel the tallest ridge takes, where there are others behind it. */
export const RIDGE = 0.42;
/** A panel is best when it is so many times as wide as high. */
const SHAPE = 1.7;
const BETWEEN_LABELS = 22;
const ROW = 40;

type WidthOf = Pen['widthOf'];

export function layOutPanels(
  content: SpreadContent,
  view: SpreadView,
  size: Size,
  widthOf: WidthOf,
  margins = NONE,
): PanelSet {
  const ends = findEnds(content, view);
  const groups = groupSpreads(content, view);
  const room = strips(ends, view, size, widthOf, margins);
  const [columns, rows] = gridOf(groups.length, room.width, room.height);
  const named = groups.length > 1;
  const width = (room.width - GAP * (columns - 1)) / columns;
  const height = (room.height + EDGE) / rows;
  const panels = groups.map((spreads, number): Panel => {
    const [column, row] = [number % columns, Math.floor(number / columns)];
    const left = room.left + column * (width + GAP);
    const top = room.top + row * height;
    const head = named ? TITLE : 0;
    const frame = { left, top: top + head, width, height: Math.max(1, height - head - EDGE) };
    const isLow = number + columns >= groups.length;
    const labels = { foot: isLow, side: column === 0, far: column === columns - 1 };
    const layout = layOutPanel(frame, ends, view, size, widthOf, labels);
    return { spreads, layout, title: named ? { left, top, width, height: TITLE } : null };
  });
  return { ends, panels };
}

function groupSpreads({ spreads }: SpreadContent, { mode }: SpreadView): number[][] {
  const all = spreads.map((_, number) => number);
  return mode === 'together' || all.length === 0 ? [all] : all.map((number) => [number]);
}

/** What is left for the panels when labels have their place. */
function strips(
  ends: Ends,
  view: SpreadView,
  size: Size,
  widthOf: WidthOf,
  { top, right, bottom, left }: Margins,
): Box {
  const high = size.height - top - bottom;
  const steps = view.mode === 'offset' ? widest(stepTicks(ends, view.format, high), widthOf) : 0;
  const values = isFlat(view.mode) ? [] : valueTicks(ends, view, high);
  const side =
    view.mode === 'offset'
      ? EDGE
      : Math.max(
          SIDE,
          widest(view.mode === 'overlay' ? countTicks(ends, high) : values, widthOf) +
            2 * LABEL_GAP,
        );
  const far = view.mode === 'offset' ? steps + 2 * LABEL_GAP : EDGE;
  return {
    left: left + side,
    top: top + TOP,
    width: Math.max(1, size.width - left - right - side - far),
    height: Math.max(1, high - TOP - FOOT),
  };
}

/** As many columns and rows as make panels of a pleasant shape. */
export function gridOf(count: number, width: number, height: number): readonly [number, number] {
  let best: readonly [number, number] = [1, Math.max(1, count)];
  let least = Infinity;
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const shape = width / columns / (height / rows);
    const unused = columns * rows - count;
    const badness = Math.abs(Math.log(shape / SHAPE)) + 0.15 * unused;
    if (badness < least) [best, least] = [[columns, rows], badness];
  }
  return best;
}

interface Labels {
  readonly foot: boolean;
  readonly side: boolean;
  readonly far: boolean;
}

function layOutPanel(
  frame: Box,
  ends: Ends,
  view: SpreadView,
  size: Size,
  widthOf: WidthOf,
  { foot, side, far }: Labels,
): Layout {
  const across: Span = [frame.left, frame.left + frame.width];
  const up: Span = [frame.top + frame.height, frame.top];
  const base = { size, frame, format: view.format };
  const blank = (ticks: readonly Tick[], seen: boolean): Tick[] =>
    seen ? [...ticks] : ticks.map(({ value }) => ({ value, text: '' }));
  const fitted = (kind: 'linear' | 'log', format: XFormat, domain: Span): Tick[] =>
    blank(fitTicks(kind, format, domain, frame.width, widthOf), foot);
  if (view.mode === 'offset') {
    const scale = ridgeScale(ends.steps, frame);
    const x = {
      scale: makeScale('linear', ends.values, across),
      ticks: fitted('linear', 'number', ends.values),
    };
    const ticks = blank(stepTicks(ends, view.format, frame.height), far);
    return { ...base, x, y: { scale, ticks: [] }, y2: { scale, ticks } };
  }
  if (view.mode === 'overlay') {
    const x = {
      scale: makeScale('linear', ends.values, across),
      ticks: fitted('linear', 'number', ends.values),
    };
    const y = {
      scale: makeScale('linear', countSpan(ends), up),
      ticks: blank(countTicks(ends, frame.height), side),
    };
    return { ...base, x, y, y2: null };
  }
  const kind = ends.log && view.mode !== 'heat' ? 'log' : 'linear';
  const x = {
    scale: makeScale('linear', widen(ends.steps), across),
    ticks: fitted('linear', view.format, widen(ends.steps)),
  };
  const y = {
    scale: makeScale(kind, ends.values, up),
    ticks: blank(valueTicks(ends, view, frame.height), side),
  };
  return { ...base, x, y, y2: null };
}

/** The feet of ridges: the oldest behind all others, the newest at the foot of the panel. */
function ridgeScale(steps: Span, { top, height }: Box): Scale {
  const foot = top + height;
  return makeScale(
    'linear',
    steps,
    steps[0] === steps[1] ? [foot, foot] : [top + height * RIDGE, foot],
  );
}

/** A single step is as wide as the chart. */
function widen([low, high]: Span): Span {
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** On a logarithmic axis of counts levels stand where their logarithms are. */
function countSpan({ most, log }: Ends): Span {
  return [0, log ? Math.log1p(most || 1) : (most || 1) * 1.04];
}

function countTicks(ends: Ends, height: number): Tick[] {
  const most = ends.most || 1;
  if (!ends.log) return ticksOf('linear', 'number', countSpan(ends), rowsOf(height));
  const ticks = ticksOf('log', 'number', [1, Math.max(10, most)], rowsOf(height));
  return [0, ...ticks.map(({ value }) => value)]
    .filter((value) => value <= most * 1.001)
    .map((value) => ({
      value: Math.log1p(value),
      text: value === 0 ? '0' : (ticks.find((tick) => tick.value === value)?.text ?? ''),
    }));
}

function stepTicks({ steps }: Ends, format: XFormat, height: number): Tick[] {
  const count = Math.max(1, Math.round((height * (1 - RIDGE)) / 26));
  return steps[0] === steps[1]
    ? ticksOf('linear', format, [steps[0] - 0.5, steps[0] + 0.5], 1)
    : ticksOf('linear', format, steps, count);
}

function valueTicks(ends: Ends, { mode }: SpreadView, height: number): Tick[] {
  const kind = ends.log && mode !== 'heat' ? 'log' : 'linear';
  return ticksOf(kind, 'number', ends.values, rowsOf(height));
}

function rowsOf(height: number): number {
  return Math.max(1, Math.round(height / ROW));
}

/** As many ticks as there is room for their words. */
function fitTicks(
  kind: 'linear' | 'log',
  format: XFormat,
  domain: Span,
  width: number,
  widthOf: WidthOf,
): Tick[] {
  for (let count = Math.max(4, Math.round(width / 60)); count > 1; count--) {
    const ticks = ticksOf(kind, format, domain, count);
    if (ticks.length * (widest(ticks, widthOf) + BETWEEN_LABELS) <= width + BETWEEN_LABELS)
      return ticks;
  }
  return ticksOf(kind, format, domain, 1);
}

function widest(ticks: readonly Tick[], widthOf: WidthOf): number {
  return Math.max(0, ...ticks.map(({ text }) => widthOf(text, { size: LABEL_SIZE })));
}
