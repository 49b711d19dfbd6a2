/** Formats numbers, sizes, durations and dates for the whole page, in its language. */
import * as common from '../catalog/common';
import { intlLocale } from '../i18n/messages';

// Creating Intl.DateTimeFormat takes tens of milliseconds, before anything is shown: English dates are
// formatted here.
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec'.split(' ');
const SI = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** Format a measured value with its significant digits. */
export function formatValue(value: number, digits = 4): string {
  if (Number.isNaN(value)) return common.nan;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : common.negativeInfinity;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 10 ** -digits)
    return withMinusSign(value.toExponential(digits - 1).replace(/\.?0+e/, 'e'));
  if (Number.isInteger(value)) return withMinusSign(groupDigits(value));
  return withMinusSign(size >= 1000 ? value.toFixed(1) : String(Number(value.toPrecision(digits))));
}

/** Format a count: 9,999, then 12.3k. */
export function formatCount(count: number): string {
  if (count < 10_000) return groupDigits(count);
  return formatScaled(count, SI, '');
}

/** Format an integer in full. */
export function formatInteger(count: number): string {
  return groupDigits(count);
}

/** Format a step, in full up to seven digits. */
export function formatStep(step: number): string {
  return Math.abs(step) < 10_000_000
    ? withMinusSign(groupDigits(step))
    : withMinusSign(formatScaled(step, SI, ''));
}

export function formatBytes(bytes: number): string {
  return withMinusSign(formatScaled(bytes, BYTES, ' '));
}

/** Format two sizes in the same unit: 1.2 of 1.9 GB. */
export function formatProgress(done: number, total: number): string {
  const power = getUnitIndex(total, BYTES);
  const round = (bytes: number): string => roundForDisplay(bytes / 1000 ** power);
  return common.progressBytes({
    done: round(done),
    total: round(total),
    unit: BYTES[power] ?? '',
  });
}

/** Format both ends of a range. */
export function formatRange(
  [low, high]: readonly [number, number],
  format: (end: number) => string,
): string {
  return common.fromTo({ from: format(low), to: format(high) });
}

export function formatAgo(seconds: number): string {
  if (seconds < 1) return common.agoNow;
  if (seconds < MINUTE_S) return common.agoSeconds({ count: groupDigits(Math.floor(seconds)) });
  if (seconds < HOUR_S)
    return common.agoMinutes({ count: groupDigits(Math.floor(seconds / MINUTE_S)) });
  if (seconds < DAY_S) return common.agoHours({ count: groupDigits(Math.floor(seconds / HOUR_S)) });
  return common.agoDays({ count: Math.floor(seconds / DAY_S) });
}

/** Format a time as an age, or as a date if it is more than 30 days ago. */
export function formatAgoOrDate(at: Date, now: Date): string {
  const seconds = (now.getTime() - at.getTime()) / 1000;
  if (seconds < 30 * DAY_S) return formatAgo(seconds);
  return formatDay(at, now);
}

/** Format a duration in its two largest units: 45 s, 4 min 12 s, 2 h 5 min, 3 d 4 h. */
export function formatDuration(seconds: number): string {
  if (seconds < 0) return `−${formatDuration(-seconds)}`;
  if (seconds < MINUTE_S) {
    const rounded = seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds);
    return formatSeconds(String(rounded));
  }
  const whole = Math.round(seconds);
  if (whole < HOUR_S) return formatTwoUnits(whole, MINUTE_S, formatMinutes, 1, formatSeconds);
  if (whole < DAY_S) return formatTwoUnits(whole, HOUR_S, formatHours, MINUTE_S, formatMinutes);
  return formatTwoUnits(whole, DAY_S, formatDays, HOUR_S, formatHours);
}

/** Format a short duration: 3.7 s, 49.2 ms, 38.4 µs. */
export function formatMs(ms: number): string {
  const size = Math.abs(ms);
  if (size >= 1000) return common.unitS({ value: formatValue(ms / 1000, 3) });
  if (size >= 0.1 || size === 0) return common.unitMs({ value: formatValue(ms, 3) });
  return formatUs(ms * 1000);
}

/** Like `formatMs`, for microseconds. */
export function formatUs(us: number): string {
  const size = Math.abs(us);
  if (size >= 1000) return formatMs(us / 1000);
  return size >= 0.1 || size === 0
    ? common.unitUs({ value: formatValue(us, 3) })
    : common.unitNs({ value: formatValue(us * 1000, 3) });
}

type FormatUnit = (count: string) => string;

const formatSeconds: FormatUnit = (count) => common.durationSeconds({ count });
const formatMinutes: FormatUnit = (count) => common.durationMinutes({ count });
const formatHours: FormatUnit = (count) => common.durationHours({ count });
const formatDays: FormatUnit = (count) => common.durationDays({ count });

function formatTwoUnits(
  whole: number,
  large: number,
  formatLarge: FormatUnit,
  small: number,
  formatSmall: FormatUnit,
): string {
  const first = formatLarge(groupDigits(Math.floor(whole / large)));
  const rest = Math.floor((whole % large) / small);
  return rest ? `${first} ${formatSmall(String(rest))}` : first;
}

/** Format a playback position, optionally in milliseconds: 1:02, 0:01.250. */
export function formatPlaybackTime(seconds: number, fine = false): string {
  const whole = fine ? Math.round(seconds * 1000) / 1000 : Math.floor(seconds + 1e-6);
  const minutes = Math.floor(whole / MINUTE_S);
  const rest = (whole - minutes * MINUTE_S).toFixed(fine ? 3 : 0).padStart(fine ? 6 : 2, '0');
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** Format a frequency or a sample rate: 440 Hz, 44.1 kHz. */
export function formatHz(hz: number): string {
  if (hz < 1000) return common.unitHz({ value: Math.round(hz) });
  return common.unitKhz({ value: String(Number((hz / 1000).toFixed(hz < 10_000 ? 2 : 1))) });
}

/** Format a level: −12 dB. */
export function formatDb(db: number): string {
  return common.unitDb({ value: withMinusSign(String(Math.round(db) || 0)) });
}

/** Format the time of day, with the date if it is not today. */
export function formatTimeOrDate(at: Date, now: Date): string {
  const time = formatTime(at).slice(0, 5);
  return at.toDateString() === now.toDateString() ? time : joinDayAndTime(formatDay(at, now), time);
}

/** Format a date and time to the second. */
export function formatDateTime(at: Date): string {
  return joinDayAndTime(formatDay(at), formatTime(at));
}

const isEnglish = intlLocale === 'en';

/** Format a date, without the year if it is the current one. */
function formatDay(at: Date, now?: Date): string {
  const hasYear = at.getFullYear() !== now?.getFullYear();
  if (!isEnglish) return getDateFormat(hasYear).format(at);
  const day = `${at.getDate()} ${MONTHS[at.getMonth()]}`;
  return hasYear ? `${day} ${at.getFullYear()}` : day;
}

const dateFormats = new Map<boolean, Intl.DateTimeFormat>();

function getDateFormat(hasYear: boolean): Intl.DateTimeFormat {
  const year = hasYear ? ({ year: 'numeric' } as const) : {};
  const format =
    dateFormats.get(hasYear) ??
    new Intl.DateTimeFormat(intlLocale, { ...year, month: 'short', day: 'numeric' });
  dateFormats.set(hasYear, format);
  return format;
}

function joinDayAndTime(day: string, time: string): string {
  return isEnglish ? `${day}, ${time}` : `${day} ${time}`;
}

function formatTime(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** Format an integer with digit grouping. */
function groupDigits(value: number): string {
  const whole = Math.sign(value) * Math.round(Math.abs(value));
  const digits = Number.isFinite(whole) ? BigInt(whole).toString() : String(whole);
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

function formatScaled(value: number, units: string[], space: string): string {
  const power = getUnitIndex(value, units);
  return `${roundForDisplay(value / 1000 ** power)}${space}${units[power]}`;
}

function getUnitIndex(value: number, units: string[]): number {
  // 999.95 rounds to 1000.0, which belongs to the next unit.
  const power = Math.floor(Math.log10(Math.max(1, Math.abs(value) * 1.00005)) / 3);
  return Math.min(units.length - 1, power);
}

function roundForDisplay(value: number): string {
  return String(Math.abs(value) < 100 ? Number(value.toFixed(1)) : Math.round(value));
}

/** Replace the hyphen by a minus sign, which is as wide as a plus. */
function withMinusSign(text: string): string {
  return text.replace(/^-/, '−');
}

/** Return the text of a description in Markdown without emphasis, code marks and link targets. */
export function removeMarkdown(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(\*\*|__|`|(?<!\w)[*_](?=\S))(.+?)\1/g, '$2')
    .replace(/^#+ +/gm, '');
}
