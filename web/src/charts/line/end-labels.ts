/** Labels at the right end of lines. */
import { truncateToWidth } from '../axes/axis-renderer';
import { LABEL_SIZE_PX, type PlotLayout } from '../axes/plot-layout';
import type { Renderer } from '../renderer/renderer';
import type { Band, Line } from '../types';
import { findVisibleRange, getYScale } from './line-renderer';

/** The text of the label of each line, by its id. */
export type EndLabels = ReadonlyMap<string, string>;

const GAP_PX = 6;
const MAX_WIDTH_PX = 150;
const LINE_HEIGHT_PX = 13;

/** Return the space that labels need to the right of the plot area. */
export function measureEndLabels(labels: EndLabels, measure: Renderer['measureText']): number {
  const widths = Array.from(labels.values(), (text) => measure(text, { size: LABEL_SIZE_PX }));
  return labels.size === 0 ? 0 : Math.min(MAX_WIDTH_PX, Math.max(...widths)) + GAP_PX;
}

export function drawEndLabels(
  renderer: Renderer,
  layout: PlotLayout,
  lines: readonly Line[],
  bands: readonly Band[],
  labels: EndLabels,
): void {
  const { left, top, width, height } = layout.plotArea;
  const centers = bands.map((band) => ({ ...band, y: band.center }));
  const ends = [...centers, ...lines].flatMap((line) => {
    const text = labels.get(line.id);
    const y = text === undefined ? null : findEnd(line, layout);
    return text === undefined || y === null ? [] : [{ text, color: line.color, y }];
  });
  const placed = spreadPositions(
    ends.map(({ y }) => y),
    LINE_HEIGHT_PX,
    [top, top + height],
  );
  for (const [index, { text, color }] of ends.entries())
    renderer.text(
      truncateToWidth(renderer, text, MAX_WIDTH_PX),
      left + width + GAP_PX,
      placed[index] ?? 0,
      { color, size: LABEL_SIZE_PX, align: 'left', baseline: 'middle' },
    );
}

/** Return where the visible part of a line ends; null if none is visible. */
function findEnd({ x, y, axis }: Pick<Line, 'x' | 'y' | 'axis'>, layout: PlotLayout) {
  const [from, to] = findVisibleRange(x, layout.x.scale, true);
  const { top, height } = layout.plotArea;
  for (let at = to - 1; at >= from; at--) {
    const pixel = getYScale(layout, axis).toPixel(y[at] ?? NaN);
    if (Number.isFinite(pixel)) return Math.min(top + height, Math.max(top, pixel));
  }
  return null;
}

/**
 * Move positions apart so that neighbors have a distance of `gap`, within a range and as little as
 * possible. Positions that touch form a block around their mean.
 */
export function spreadPositions(
  positions: readonly number[],
  gap: number,
  [low, high]: readonly [number, number],
): number[] {
  const order = positions.map((_, index) => index);
  order.sort((a, b) => (positions[a] ?? 0) - (positions[b] ?? 0));
  const blocks: { first: number; count: number; sum: number }[] = [];
  const getStart = ({ count, sum }: { count: number; sum: number }): number =>
    Math.max(low, Math.min(high - (count - 1) * gap, sum / count - ((count - 1) * gap) / 2));
  for (const [rank, index] of order.entries()) {
    let block = { first: rank, count: 1, sum: positions[index] ?? 0 };
    for (let last = blocks.at(-1); last; last = blocks.at(-1)) {
      if (getStart(last) + last.count * gap <= getStart(block)) break;
      blocks.pop();
      block = { first: last.first, count: last.count + block.count, sum: last.sum + block.sum };
    }
    blocks.push(block);
  }
  const spread = new Array<number>(positions.length).fill(0);
  for (const block of blocks)
    for (let at = 0; at < block.count; at++)
      spread[order[block.first + at] ?? 0] = getStart(block) + at * gap;
  return spread;
}
