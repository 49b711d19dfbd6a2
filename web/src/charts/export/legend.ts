import { pathOf, type Pen } from '../pen/pen';
import type { Palette } from '../picture/palette';
import type { Band, Line } from '../types';

interface Entry {
  readonly label: string;
  readonly colour: string;
  readonly dash: readonly number[];
}

interface Placed extends Entry {
  readonly left: number;
  readonly top: number;
}

/** Who is who, in rows below a chart. */
export interface Legend {
  readonly entries: readonly Placed[];
  readonly rest: string;
  readonly height: number;
}

export const LEGEND_SIZE = 11;
const ROW = 18;
const SAMPLE = 18;
const GAP = 6;
const BETWEEN = 18;
/** More names than this would be a book below a picture. */
const MOST = 60;

export function layOutLegend(
  lines: readonly Line[],
  bands: readonly Band[],
  width: number,
  widthOf: Pen['widthOf'],
): Legend {
  const all: Entry[] = [...bands.map((band) => ({ ...band, dash: [] })), ...lines];
  const entries: Placed[] = [];
  let [left, top] = [0, 0];
  for (const { label, colour, dash } of all.slice(0, MOST)) {
    const needed = SAMPLE + GAP + widthOf(label, { size: LEGEND_SIZE });
    if (left > 0 && left + needed > width) [left, top] = [0, top + ROW];
    entries.push({ label, colour, dash, left, top });
    left += needed + BETWEEN;
  }
  const more = all.length - MOST;
  const rest = more > 0 ? `and ${more} more` : '';
  return { entries, rest, height: top + ROW * (rest ? 2 : 1) };
}

export function drawLegend(
  pen: Pen,
  { entries, rest, height }: Legend,
  left: number,
  top: number,
  { text, label: pale }: Palette,
): void {
  const style = { size: LEGEND_SIZE, align: 'left', baseline: 'middle' } as const;
  for (const { label, colour, dash, left: x, top: y } of entries) {
    const [from, middle] = [left + x, top + y + ROW / 2];
    pen.stroke(pathOf(from, middle, from + SAMPLE, middle), { colour, dash, width: 2 });
    pen.text(label, from + SAMPLE + GAP, middle, { ...style, colour: text });
  }
  if (rest) pen.text(rest, left, top + height - ROW / 2, { ...style, colour: pale });
}
