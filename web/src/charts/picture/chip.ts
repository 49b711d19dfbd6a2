import type { Pen } from '../pen/pen';
import { LABEL_SIZE, type Size } from './layout';

/** Words on a small coloured plate. */
export interface Chip {
  readonly text: string;
  /** The middle of its upper edge. */
  readonly x: number;
  readonly top: number;
  readonly ink: string;
  readonly plate: string;
}

export const CHIP_HEIGHT = 15;
export const CHIP_PAD = 4;

/** Draws a chip, moved as far as it takes to be within a chart. */
export function drawChip(
  pen: Pen,
  { text, x, top, ink, plate }: Chip,
  { width: room }: Size,
): void {
  const width = widthOfChip(pen, text);
  const left = Math.max(0, Math.min(room - width, x - width / 2));
  pen.box({ left, top, width, height: CHIP_HEIGHT }, { colour: plate, radius: 3 });
  const style = { colour: ink, size: LABEL_SIZE, align: 'left', baseline: 'middle' } as const;
  pen.text(text, left + CHIP_PAD, top + CHIP_HEIGHT / 2, style);
}

export function widthOfChip(pen: Pick<Pen, 'widthOf'>, text: string): number {
  return pen.widthOf(text, { size: LABEL_SIZE }) + 2 * CHIP_PAD;
}

/** Text that fits on a chip of a width, with dots where it was cut. */
export function shorten(pen: Pick<Pen, 'widthOf'>, text: string, room: number): string {
  if (widthOfChip(pen, text) <= room) return text;
  let length = text.length;
  while (length > 1 && widthOfChip(pen, `${text.slice(0, length)}…`) > room) length--;
  return `${text.slice(0, length).trimEnd()}…`;
}
