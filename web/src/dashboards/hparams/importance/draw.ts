import { pathOf, type Pen } from '../../../charts/pen/pen';
import type { Palette } from '../../../charts/picture/palette';
import type { ImportanceBar } from '../data/answers';
import { sayBar, sayShare } from './words';

const ROW = 30;
const BAR = 14;
const GAP = 12;
const NAME = 190;
const SHARE = 46;
const WORDS = 240;
const SIZE = 13;

/** How far the longest bar reaches, with its doubt. */
export function reachOf(bars: readonly ImportanceBar[]): number {
  return Math.max(0.01, ...bars.map(({ importance, deviation }) => importance + deviation));
}

/** The bars as they stand on the page, row by row. */
export function drawBars(
  pen: Pen,
  bars: readonly ImportanceBar[],
  width: number,
  palette: Palette,
): void {
  const left = NAME + GAP;
  const room = Math.max(60, width - left - SHARE - WORDS - 2 * GAP);
  const scale = room / reachOf(bars);
  bars.forEach((bar, place) => {
    const middle = (place + 0.5) * ROW;
    const at = { size: SIZE, colour: palette.text, baseline: 'middle' } as const;
    pen.text(bar.name, 0, middle, { ...at, align: 'left' });
    const long = Math.max(2, bar.importance * scale);
    const box = { left, top: middle - BAR / 2, width: long, height: BAR };
    pen.box(box, { colour: palette.accent, radius: 3 });
    const from = left + Math.max(0, bar.importance - bar.deviation) * scale;
    const to = left + (bar.importance + bar.deviation) * scale;
    pen.stroke(pathOf(from, middle, to, middle), { colour: palette.text, width: 1.5 });
    const share = left + room + GAP + SHARE;
    pen.text(sayShare(bar.importance), share, middle, { ...at, bold: true, align: 'right' });
    const told = { ...at, size: SIZE - 1, colour: palette.label, align: 'left' } as const;
    pen.text(sayBar(bar), share + GAP, middle, told);
  });
}
