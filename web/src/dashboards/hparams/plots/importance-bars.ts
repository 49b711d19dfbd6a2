import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import { makePath, type Renderer } from '../../../charts/renderer/renderer';
import type { ImportanceBar } from '../schemas';

const ROW_HEIGHT_PX = 30;
const BAR_HEIGHT_PX = 14;
const COLUMN_GAP_PX = 12;
const NAME_WIDTH_PX = 190;
const SHARE_WIDTH_PX = 46;
const DIRECTION_WIDTH_PX = 240;
const FONT_PX = 13;

/** How far the longest bar reaches, with its doubt. */
export function getMaxBarEnd(bars: readonly ImportanceBar[]): number {
  return Math.max(0.01, ...bars.map(({ importance, deviation }) => importance + deviation));
}

/** The bars as they stand on the page, row by row. */
export function drawImportanceBars(
  pen: Renderer,
  bars: readonly ImportanceBar[],
  width: number,
  palette: ChartTheme,
): void {
  const left = NAME_WIDTH_PX + COLUMN_GAP_PX;
  const room = Math.max(60, width - left - SHARE_WIDTH_PX - DIRECTION_WIDTH_PX - 2 * COLUMN_GAP_PX);
  const scale = room / getMaxBarEnd(bars);
  bars.forEach((bar, place) => {
    const middle = (place + 0.5) * ROW_HEIGHT_PX;
    const at = { size: FONT_PX, color: palette.text, baseline: 'middle' } as const;
    pen.text(bar.name, 0, middle, { ...at, align: 'left' });
    const long = Math.max(2, bar.importance * scale);
    const box = { left, top: middle - BAR_HEIGHT_PX / 2, width: long, height: BAR_HEIGHT_PX };
    pen.rect(box, { color: palette.accent, radius: 3 });
    const from = left + Math.max(0, bar.importance - bar.deviation) * scale;
    const to = left + (bar.importance + bar.deviation) * scale;
    pen.stroke(makePath(from, middle, to, middle), { color: palette.text, width: 1.5 });
    const share = left + room + COLUMN_GAP_PX + SHARE_WIDTH_PX;
    pen.text(formatShare(bar.importance), share, middle, { ...at, bold: true, align: 'right' });
    const told = { ...at, size: FONT_PX - 1, color: palette.label, align: 'left' } as const;
    pen.text(formatDirection(bar), share + COLUMN_GAP_PX, middle, told);
  });
}

/** A share as a whole number of hundredths. */
export function formatShare(share: number): string {
  const hundredths = Math.round(100 * share);
  return hundredths === 0 && share > 0 ? '< 1 %' : `${hundredths} %`;
}

/** Which way is better, or where. */
export function formatDirection({ direction, best }: ImportanceBar): string {
  if (best) return `best ${best}`;
  if (direction === 0) return '';
  return direction > 0 ? 'better when higher' : 'better when lower';
}
