import { formatClock, formatDuration, formatMoment, formatValue } from '../../../base/format';
import { type Column, hasValue, rawText } from './column';

/** What stands where there is no value. */
export const NOTHING = '–';

/** A number of a column as people read it. */
export function sayNumber({ meaning }: Column, value: number): string {
  if (meaning === 'duration') return formatDuration(value);
  if (meaning === 'time') return formatClock(new Date(value * 1000), new Date());
  return formatValue(value);
}

/** The value of a session as people read it. */
export function sayValue(column: Column, row: number): string {
  if (!hasValue(column, row)) return NOTHING;
  const number = column.numbers[row] ?? NaN;
  if (column.words) return column.words[number] ?? '';
  const deviation = column.deviation?.[row] ?? 0;
  const spread = deviation > 0 ? ` ± ${formatValue(deviation, 2)}` : '';
  return sayNumber(column, number) + spread;
}

/** The value in full, for a hover. */
export function sayExactly(column: Column, row: number): string {
  const text = rawText(column, row);
  if (text === null) return 'no value';
  return column.meaning === 'time' ? formatMoment(new Date(Number(text) * 1000)) : text;
}
