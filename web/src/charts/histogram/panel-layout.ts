import { makeScale, makeTicks, type Scale, type Tick } from '../axes/ticks';
import type { Rect, Renderer } from '../renderer/renderer';
import {
  LABEL_GAP_PX,
  LABEL_SIZE_PX,
  type PlotLayout,
  type Margins,
  type Size,
} from '../axes/plot-layout';
import type { NumberRange, AxisFormat } from '../types';
import {
  computeExtents,
  hasHorizontalValues,
  type HistogramData,
  type HistogramExtents,
  type HistogramViewOptions,
} from './histogram-model';

/** A small multiple: all panels have the same axes. */
export interface Panel {
  /** Indices of its series. */
  readonly seriesIndexes: readonly number[];
  readonly layout: PlotLayout;
  /** Rectangle of the title; null for a single panel. */
  readonly title: Rect | null;
}

export interface PanelLayout {
  readonly extents: HistogramExtents;
  readonly panels: readonly Panel[];
}

const NO_MARGINS: Margins = { top: 0, right: 0, bottom: 0, left: 0 };
const TOP = 6;
const BOTTOM = 20;
const GAP = 10;
const TITLE_HEIGHT = 15;
const MIN_LEFT = 34;
const MIN_RIGHT = 10;
/** Height of the tallest ridge as a fraction of its panel. */
export const RIDGE_HEIGHT_RATIO = 0.42;
/** Preferred aspect ratio of panels. */
const PANEL_ASPECT_RATIO = 1.7;
const LABEL_SPACING_PX = 22;
const TICK_SPACING_PX = 40;

type MeasureText = Renderer['measureText'];

export function layoutPanels(
  content: HistogramData,
  view: HistogramViewOptions,
  size: Size,
  measure: MeasureText,
  margins = NO_MARGINS,
): PanelLayout {
  const extents = computeExtents(content, view);
  const groups = groupSeries(content, view);
  const area = computePanelArea(extents, view, size, measure, margins);
  const [columns, rows] = choosePanelGrid(groups.length, area.width, area.height);
  const named = groups.length > 1;
  const width = (area.width - GAP * (columns - 1)) / columns;
  const height = (area.height + MIN_RIGHT) / rows;
  const panels = groups.map((entries, number): Panel => {
    const [column, row] = [number % columns, Math.floor(number / columns)];
    const left = area.left + column * (width + GAP);
    const top = area.top + row * height;
    const head = named ? TITLE_HEIGHT : 0;
    const frame = { left, top: top + head, width, height: Math.max(1, height - head - MIN_RIGHT) };
    const isLow = number + columns >= groups.length;
    const labels = { bottom: isLow, left: column === 0, right: column === columns - 1 };
    const layout = layoutPanel(frame, extents, view, size, measure, labels);
    return {
      seriesIndexes: entries,
      layout,
      title: named ? { left, top, width, height: TITLE_HEIGHT } : null,
    };
  });
  return { extents, panels };
}

function groupSeries({ series }: HistogramData, { mode }: HistogramViewOptions): number[][] {
  const all = series.map((_, number) => number);
  return mode === 'together' || all.length === 0 ? [all] : all.map((number) => [number]);
}

/** Return the area of the panels without the labels. */
function computePanelArea(
  extents: HistogramExtents,
  view: HistogramViewOptions,
  size: Size,
  measure: MeasureText,
  { top, right, bottom, left }: Margins,
): Rect {
  const high = size.height - top - bottom;
  const steps =
    view.mode === 'offset'
      ? findMaxLabelWidth(makeStepTicks(extents, view.format, high), measure)
      : 0;
  const values = hasHorizontalValues(view.mode) ? [] : makeValueTicks(extents, view, high);
  const side =
    view.mode === 'offset'
      ? MIN_RIGHT
      : Math.max(
          MIN_LEFT,
          findMaxLabelWidth(
            view.mode === 'overlay' ? makeCountTicks(extents, high) : values,
            measure,
          ) +
            2 * LABEL_GAP_PX,
        );
  const far = view.mode === 'offset' ? steps + 2 * LABEL_GAP_PX : MIN_RIGHT;
  return {
    left: left + side,
    top: top + TOP,
    width: Math.max(1, size.width - left - right - side - far),
    height: Math.max(1, high - TOP - BOTTOM),
  };
}

/** Return the columns and rows that give panels the best aspect ratio. */
export function choosePanelGrid(
  count: number,
  width: number,
  height: number,
): readonly [number, number] {
  let best: readonly [number, number] = [1, Math.max(1, count)];
  let least = Infinity;
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const shape = width / columns / (height / rows);
    const unused = columns * rows - count;
    const badness = Math.abs(Math.log(shape / PANEL_ASPECT_RATIO)) + 0.15 * unused;
    if (badness < least) [best, least] = [[columns, rows], badness];
  }
  return best;
}

interface PanelLabels {
  readonly bottom: boolean;
  readonly left: boolean;
  readonly right: boolean;
}

function layoutPanel(
  frame: Rect,
  extents: HistogramExtents,
  view: HistogramViewOptions,
  size: Size,
  measure: MeasureText,
  { bottom, left, right }: PanelLabels,
): PlotLayout {
  const across: NumberRange = [frame.left, frame.left + frame.width];
  const up: NumberRange = [frame.top + frame.height, frame.top];
  const base = { size, plotArea: frame, format: view.format };
  const blank = (ticks: readonly Tick[], seen: boolean): Tick[] =>
    seen ? [...ticks] : ticks.map(({ value }) => ({ value, label: '' }));
  const fitted = (kind: 'linear' | 'log', format: AxisFormat, domain: NumberRange): Tick[] =>
    blank(fitTicks(kind, format, domain, frame.width, measure), bottom);
  if (view.mode === 'offset') {
    const scale = makeRidgeScale(extents.steps, frame);
    const x = {
      scale: makeScale('linear', extents.values, across),
      ticks: fitted('linear', 'number', extents.values),
    };
    const ticks = blank(makeStepTicks(extents, view.format, frame.height), right);
    return { ...base, x, y: { scale, ticks: [] }, y2: { scale, ticks } };
  }
  if (view.mode === 'overlay') {
    const x = {
      scale: makeScale('linear', extents.values, across),
      ticks: fitted('linear', 'number', extents.values),
    };
    const y = {
      scale: makeScale('linear', getCountRange(extents), up),
      ticks: blank(makeCountTicks(extents, frame.height), left),
    };
    return { ...base, x, y, y2: null };
  }
  const kind = extents.isLog && view.mode !== 'heat' ? 'log' : 'linear';
  const x = {
    scale: makeScale('linear', widenStepRange(extents.steps), across),
    ticks: fitted('linear', view.format, widenStepRange(extents.steps)),
  };
  const y = {
    scale: makeScale(kind, extents.values, up),
    ticks: blank(makeValueTicks(extents, view, frame.height), left),
  };
  return { ...base, x, y, y2: null };
}

/** Return the scale of ridge baselines: the oldest at the top, the newest at the bottom. */
function makeRidgeScale(steps: NumberRange, { top, height }: Rect): Scale {
  const bottom = top + height;
  return makeScale(
    'linear',
    steps,
    steps[0] === steps[1] ? [bottom, bottom] : [top + height * RIDGE_HEIGHT_RATIO, bottom],
  );
}

/** Widen the range of a single step. */
function widenStepRange([low, high]: NumberRange): NumberRange {
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** Return the domain of the count axis; on a log axis, of logarithms. */
function getCountRange({ maxCount, isLog }: HistogramExtents): NumberRange {
  return [0, isLog ? Math.log1p(maxCount || 1) : (maxCount || 1) * 1.04];
}

function makeCountTicks(extents: HistogramExtents, height: number): Tick[] {
  const most = extents.maxCount || 1;
  if (!extents.isLog)
    return makeTicks('linear', 'number', getCountRange(extents), countTickRows(height));
  const ticks = makeTicks('log', 'number', [1, Math.max(10, most)], countTickRows(height));
  return [0, ...ticks.map(({ value }) => value)]
    .filter((value) => value <= most * 1.001)
    .map((value) => ({
      value: Math.log1p(value),
      label: value === 0 ? '0' : (ticks.find((tick) => tick.value === value)?.label ?? ''),
    }));
}

function makeStepTicks({ steps }: HistogramExtents, format: AxisFormat, height: number): Tick[] {
  const count = Math.max(1, Math.round((height * (1 - RIDGE_HEIGHT_RATIO)) / 26));
  return steps[0] === steps[1]
    ? makeTicks('linear', format, [steps[0] - 0.5, steps[0] + 0.5], 1)
    : makeTicks('linear', format, steps, count);
}

function makeValueTicks(
  extents: HistogramExtents,
  { mode }: HistogramViewOptions,
  height: number,
): Tick[] {
  const kind = extents.isLog && mode !== 'heat' ? 'log' : 'linear';
  return makeTicks(kind, 'number', extents.values, countTickRows(height));
}

function countTickRows(height: number): number {
  return Math.max(1, Math.round(height / TICK_SPACING_PX));
}

/** Return as many ticks as their labels allow. */
function fitTicks(
  kind: 'linear' | 'log',
  format: AxisFormat,
  domain: NumberRange,
  width: number,
  measure: MeasureText,
): Tick[] {
  for (let count = Math.max(4, Math.round(width / 60)); count > 1; count--) {
    const ticks = makeTicks(kind, format, domain, count);
    if (
      ticks.length * (findMaxLabelWidth(ticks, measure) + LABEL_SPACING_PX) <=
      width + LABEL_SPACING_PX
    )
      return ticks;
  }
  return makeTicks(kind, format, domain, 1);
}

function findMaxLabelWidth(ticks: readonly Tick[], measure: MeasureText): number {
  return Math.max(0, ...ticks.map(({ label }) => measure(label, { size: LABEL_SIZE_PX })));
}
