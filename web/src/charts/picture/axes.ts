import { type Lettering, pathOf, type Pen } from '../pen/pen';
import { LABEL_GAP, LABEL_SIZE, type Layout } from './layout';
import type { Palette } from './palette';

/** The grid, and what numbers mean where. */
export function drawAxes(pen: Pen, layout: Layout, palette: Palette): void {
  drawGrid(pen, layout, palette);
  drawSideLabels(pen, layout, palette);
  drawFootLabels(pen, layout, palette);
}

function drawGrid(pen: Pen, { frame, y }: Layout, { grid, axis }: Palette): void {
  const right = frame.left + frame.width;
  const foot = frame.top + frame.height;
  for (const { value } of y.ticks) {
    const at = crisp(y.scale.at(value));
    pen.stroke(pathOf(frame.left, at, right, at), { colour: grid, width: 1 });
  }
  const at = crisp(foot);
  pen.stroke(pathOf(frame.left, at, right, at), { colour: axis, width: 1 });
}

/** In the middle of a row of pixels a thin line is sharp. */
export function crisp(pixel: number): number {
  return Math.round(pixel - 0.5) + 0.5;
}

function drawSideLabels(pen: Pen, { frame, y, y2 }: Layout, { label }: Palette): void {
  const style = { colour: label, size: LABEL_SIZE, baseline: 'middle' } as const;
  for (const { value, text } of y.ticks)
    pen.text(text, frame.left - LABEL_GAP, y.scale.at(value), { ...style, align: 'right' });
  const right = frame.left + frame.width + LABEL_GAP;
  for (const { value, text } of y2?.ticks ?? [])
    pen.text(text, right, y2?.scale.at(value) ?? 0, { ...style, align: 'left' });
}

/** Words at the ends are moved in, so that none is cut off. */
function drawFootLabels(pen: Pen, { frame, x, size }: Layout, palette: Palette): void {
  const style: Lettering = {
    colour: palette.label,
    size: LABEL_SIZE,
    align: 'center',
    baseline: 'top',
  };
  const top = frame.top + frame.height + LABEL_GAP;
  for (const { value, text } of x.ticks) {
    const half = pen.widthOf(text, style) / 2 + 2;
    const at = Math.min(size.width - half, Math.max(half, x.scale.at(value)));
    pen.text(text, at, top, style);
  }
}
