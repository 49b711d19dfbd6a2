import type { Pen } from '../../../charts/pen/pen';
import type { Palette } from '../../../charts/picture/palette';
import { inkColours } from '../model/ink';
import { sayNumber } from '../model/words';
import type { Study } from '../study.svelte';

/** What the colours of sessions mean: a column, and its values at the ends of the ramp. */
export interface Legend {
  readonly title: string;
  /** At the pale end and at the strong one. */
  readonly ends: readonly [string, string];
}

export function legendOf(study: Study): Legend | null {
  const column = study.colouredBy;
  if (!column) return null;
  const { words, title } = column;
  const { valueAt } = study.axisOf(column);
  const [low, high] = words
    ? [words[0] ?? '', words.at(-1) ?? '']
    : [sayNumber(column, valueAt(0)), sayNumber(column, valueAt(1))];
  const isLow = column === study.goal?.column && study.goal.isLow;
  return { title, ends: isLow ? [high, low] : [low, high] };
}

const SIZE = 11;
const RAMP = { width: 84, height: 8 };
const GAP = 6;

/** From the right, as it stands below a plot. */
export function drawLegend(
  pen: Pen,
  { title, ends }: Legend,
  { right, middle }: { readonly right: number; readonly middle: number },
  palette: Palette,
): void {
  const style = { size: SIZE, align: 'right', baseline: 'middle' } as const;
  const colours = inkColours(false);
  let at = right;
  const write = (text: string, colour: string): void => {
    pen.text(text, at, middle, { ...style, colour });
    at -= pen.widthOf(text, style) + GAP;
  };
  write(ends[1], palette.label);
  at -= RAMP.width;
  colours.forEach((colour, place) => {
    const width = RAMP.width / colours.length;
    // A little wider than its part, as gaps would be seen between them.
    const box = { left: at + place * width, top: middle - RAMP.height / 2, width: width + 0.5 };
    pen.box({ ...box, height: RAMP.height }, { colour });
  });
  at -= GAP;
  write(ends[0], palette.label);
  write(title, palette.text);
}
