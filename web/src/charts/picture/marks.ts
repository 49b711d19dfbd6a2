import { type Path, pathOf, type Pen, type Point } from '../pen/pen';
import type { Line, Mark } from '../types';
import type { Layout } from './layout';
import { verticalScale } from './lines';
import type { Word } from './overlay';
import type { Palette } from './palette';

const SIZE = 4;
const DOT = 2.5;
/** How near to a mark a pointer is on it. */
const REACH = 8;

/** A mark with its place in pixels. */
interface PlacedMark {
  readonly mark: Mark;
  readonly colour: string;
  readonly x: number;
  readonly y: number;
}

/** The marks that are seen. Those of no finite value stand at the edge where it would be. */
function* placeMarks(lines: readonly Line[], layout: Layout): Generator<PlacedMark> {
  for (const line of lines)
    for (const mark of line.marks ?? []) {
      const x = layout.x.scale.at(mark.x);
      const y = heightOf(mark, line, layout);
      if (isSeen(x, y, layout)) yield { mark, colour: line.colour, x, y };
    }
}

/** What the mark under a pointer says. */
export function findMark(lines: readonly Line[], layout: Layout, at: Point): Word | null {
  let best: Word | null = null;
  let least = REACH;
  for (const { mark, x, y } of placeMarks(lines, layout)) {
    const distance = Math.hypot(x - at.x, y - at.y);
    if (distance < least) [best, least] = [{ text: mark.text, x, y }, distance];
  }
  return best;
}

function heightOf({ kind, y }: Mark, line: Line, layout: Layout): number {
  const { top, height } = layout.frame;
  if (kind === 'inf') return top + SIZE;
  if (kind === 'nan' || kind === '-inf') return top + height - SIZE;
  return verticalScale(layout, line.axis).at(y);
}

function isSeen(x: number, y: number, { frame }: Layout): boolean {
  const { left, top, width, height } = frame;
  return x >= left && x <= left + width && y >= top && y <= top + height;
}

export function drawMarks(
  pen: Pen,
  layout: Layout,
  lines: readonly Line[],
  { paper }: Palette,
): void {
  for (const { mark, colour, x, y } of placeMarks(lines, layout)) {
    if (mark.kind === 'last') pen.dot(x, y, DOT, { colour, ring: paper });
    else if (mark.kind === 'nan') drawCross(pen, x, y, colour);
    else drawTriangle(pen, x, y, mark.kind === 'inf' || mark.kind === 'max', colour, paper);
  }
}

/** Points up at a largest value and at infinity, down at the others. */
function drawTriangle(
  pen: Pen,
  x: number,
  y: number,
  up: boolean,
  colour: string,
  paper: string,
): void {
  const tip = up ? -SIZE : SIZE;
  const shape = (size: number): Path =>
    pathOf(x - size, y - tip * 0.8, x + size, y - tip * 0.8, x, y + tip * (size / SIZE));
  pen.fill(shape(SIZE + 1.5), { colour: paper });
  pen.fill(shape(SIZE), { colour });
}

function drawCross(pen: Pen, x: number, y: number, colour: string): void {
  const reach = SIZE - 1;
  const one = [x - reach, y - reach, x + reach, y + reach];
  const other = [x - reach, y + reach, x + reach, y - reach];
  pen.stroke(pathOf(...one, NaN, NaN, ...other), { colour, width: 1.5 });
}
