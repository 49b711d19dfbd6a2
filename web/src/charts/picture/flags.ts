import { pathOf, type Pen } from '../pen/pen';
import type { Flag } from '../types';
import { crisp } from './axes';
import { LABEL_SIZE, type Layout } from './layout';
import type { Palette } from './palette';

const GAP = 4;
const HEIGHT = 15;
/** Shorter than this a word says nothing. */
const SHORTEST = 24;

/** What somebody wrote down at a step: a line, and its words as far as the next flag. */
export function drawFlags(
  pen: Pen,
  layout: Layout,
  flags: readonly Flag[],
  { accent, paper }: Palette,
): void {
  const { frame, x } = layout;
  const right = frame.left + frame.width;
  const seen = flags
    .map(({ x: value, text }) => ({ at: x.scale.at(value), text }))
    .filter(({ at }) => at >= frame.left && at <= right)
    .sort((one, other) => one.at - other.at);
  for (const [index, { at, text }] of seen.entries()) {
    const pole = crisp(at);
    const path = pathOf(pole, frame.top, pole, frame.top + frame.height);
    pen.stroke(path, { colour: accent, width: 1, dash: [2, 2] });
    const room = (seen[index + 1]?.at ?? right) - at - GAP;
    if (room > SHORTEST) drawWords(pen, pole, frame.top, shorten(pen, text, room), accent, paper);
  }
}

function drawWords(
  pen: Pen,
  left: number,
  top: number,
  text: string,
  accent: string,
  paper: string,
): void {
  const width = pen.widthOf(text, { size: LABEL_SIZE }) + 2 * GAP;
  pen.box({ left, top, width, height: HEIGHT }, { colour: accent, radius: 3 });
  const style = { colour: paper, size: LABEL_SIZE, align: 'left', baseline: 'middle' } as const;
  pen.text(text, left + GAP, top + HEIGHT / 2, style);
}

/** Text that fits, with dots where it was cut. */
export function shorten(pen: Pick<Pen, 'widthOf'>, text: string, room: number): string {
  const fits = (shown: string): boolean =>
    pen.widthOf(shown, { size: LABEL_SIZE }) + 2 * GAP <= room;
  if (fits(text)) return text;
  let length = text.length;
  while (length > 1 && !fits(`${text.slice(0, length)}…`)) length--;
  return `${text.slice(0, length).trimEnd()}…`;
}
