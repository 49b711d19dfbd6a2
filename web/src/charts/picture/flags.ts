import { pathOf, type Pen, type Point } from '../pen/pen';
import type { Flag } from '../types';
import { crisp } from './axes';
import { drawChip, shorten, widthOfChip } from './chip';
import type { Layout } from './layout';
import type { Word } from './overlay';
import type { Palette } from './palette';

const GAP = 4;
const REACH = 4;
/** Narrower than this a word says nothing. */
const NARROWEST = 24;

/** What somebody wrote down at a step: a line, and its words as far as the next flag. */
export function drawFlags(
  pen: Pen,
  layout: Layout,
  flags: readonly Flag[],
  palette: Palette,
): void {
  const { frame, x } = layout;
  const right = frame.left + frame.width;
  const seen = flags
    .map(({ x: value, text }) => ({ at: crisp(x.scale.at(value)), text }))
    .filter(({ at }) => at >= frame.left - 1 && at <= right + 1)
    .sort((one, other) => one.at - other.at);
  for (const [index, { at, text }] of seen.entries()) {
    const pole = pathOf(at, frame.top, at, frame.top + frame.height);
    pen.stroke(pole, { colour: palette.accent, width: 1, dash: [2, 2] });
    drawWords(pen, layout, text, at, (seen[index + 1]?.at ?? right) - at - GAP, palette);
  }
}

/** What the flag whose pole is under a pointer says, in full. */
export function findFlag(flags: readonly Flag[], { x, frame }: Layout, at: Point): Word | null {
  const near = flags.find(({ x: value }) => Math.abs(x.scale.at(value) - at.x) <= REACH);
  return near ? { text: near.text, x: x.scale.at(near.x), y: frame.top } : null;
}

/** To the right of the pole, or at the end of the chart where there is more room on its left. */
function drawWords(
  pen: Pen,
  { frame, size }: Layout,
  text: string,
  at: number,
  room: number,
  { paper, accent }: Palette,
): void {
  const isLast = at + room + GAP >= frame.left + frame.width;
  const shown = shorten(pen, text, isLast ? frame.width / 2 : room);
  if (!isLast && room < NARROWEST) return;
  const half = widthOfChip(pen, shown) / 2;
  drawChip(pen, { text: shown, x: at + half, top: frame.top, ink: paper, plate: accent }, size);
}
