import { ticksOf } from '../../../charts/axis/ticks';
import { type Box, pathOf, type Pen } from '../../../charts/pen/pen';
import { crisp } from '../../../charts/picture/axes';
import type { Palette } from '../../../charts/picture/palette';
import { colourOfPart } from '../colours';
import { formatMs } from '../words';
import type { Column, Layer } from './columns';

const LABEL_SIZE = 10.5;
const TICKS = 4;

/** The part of the picture that columns are in. */
export function frameOf(width: number, height: number): Box {
  const [left, top, right, foot] = [56, 6, 4, 4];
  return {
    left,
    top,
    width: Math.max(1, width - left - right),
    height: Math.max(1, height - top - foot),
  };
}

export interface Picture {
  readonly frame: Box;
  readonly columns: readonly Column[];
  readonly layers: readonly Layer[];
  /** So many milliseconds reach from the bottom to the top. */
  readonly height: number;
}

export function drawSteps(pen: Pen, picture: Picture, palette: Palette): void {
  drawScale(pen, picture, palette);
  for (const column of picture.columns) drawColumn(pen, picture, column);
}

function drawScale(pen: Pen, { frame, height }: Picture, palette: Palette): void {
  const style = { size: LABEL_SIZE, colour: palette.label, align: 'right', baseline: 'middle' };
  for (const { value } of ticksOf('linear', 'number', [0, height], TICKS)) {
    const at = crisp(frame.top + frame.height * (1 - value / height));
    const line = pathOf(frame.left, at, frame.left + frame.width, at);
    pen.stroke(line, { colour: value === 0 ? palette.axis : palette.grid, width: 1 });
    pen.text(formatMs(value), frame.left - 6, at, style as Parameters<Pen['text']>[3]);
  }
}

function drawColumn(pen: Pen, { frame, layers, height }: Picture, column: Column): void {
  const [left, foot] = [frame.left + column.left, frame.top + frame.height];
  let below = 0;
  for (const { name, ms } of layers) {
    const above = Math.min(height, below + (ms[column.step] ?? 0));
    const size = ((above - below) / height) * frame.height;
    const top = foot - (above / height) * frame.height;
    if (size > 0)
      pen.box({ left, top, width: column.width, height: size }, { colour: colourOfPart(name) });
    below = above;
  }
}

/** The column under the pointer stands out. */
export function drawPointed(pen: Pen, { frame }: Picture, column: Column, palette: Palette): void {
  const box = {
    left: frame.left + column.left,
    top: frame.top,
    width: column.width,
    height: frame.height,
  };
  pen.box(box, { colour: palette.accent, opacity: 0.16 });
}
