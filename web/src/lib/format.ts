/** Numbers, sizes and times are put into words here and nowhere else. */

// Not the browser's formatters: they take tens of milliseconds to wake up, before a page is seen.
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec'.split(' ');
const SI = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** A measured value with the digits that matter. */
export function formatValue(value: number, digits = 4): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 10 ** -digits)
    return withMinusSign(value.toExponential(digits - 1).replace(/\.?0+e/, 'e'));
  if (Number.isInteger(value)) return withMinusSign(groupDigits(value));
  return withMinusSign(size >= 1000 ? value.toFixed(1) : String(Number(value.toPrecision(digits))));
}

/** A count in steps of a thousand: 9,999 then 12.3k. */
export function formatCount(count: number): string {
  if (count < 10_000) return groupDigits(count);
  return formatScaled(count, SI, '');
}

/** A count in full. */
export function formatInteger(count: number): string {
  return groupDigits(count);
}

/** A step: in full as long as that can be read. */
export function formatStep(step: number): string {
  return Math.abs(step) < 10_000_000
    ? withMinusSign(groupDigits(step))
    : withMinusSign(formatScaled(step, SI, ''));
}

export function formatBytes(bytes: number): string {
  return withMinusSign(formatScaled(bytes, BYTES, ' '));
}

/** Two sizes in one unit: 1.2 of 1.9 GB. */
export function formatProgress(done: number, total: number): string {
  const power = getUnitIndex(total, BYTES);
  const [one, other] = [done, total].map((bytes) => roundForDisplay(bytes / 1000 ** power));
  return `${one} of ${other} ${BYTES[power]}`;
}

/** `count` things, in the right number. */
export function formatPlural(count: number, one: string, format = formatCount): string {
  return `${format(count)} ${count === 1 ? one : `${one}s`}`;
}

export function formatAgo(seconds: number): string {
  if (seconds < 1) return 'now';
  if (seconds < MINUTE_S) return `${Math.floor(seconds)} s ago`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ago`;
  if (seconds < DAY_S) return `${Math.floor(seconds / HOUR_S)} h ago`;
  return `${groupDigits(Math.floor(seconds / DAY_S))} d ago`;
}

/** How long ago or, where that is more than a month, on which day. */
export function formatAgoOrDate(at: Date, now: Date): string {
  const seconds = (now.getTime() - at.getTime()) / 1000;
  if (seconds < 30 * DAY_S) return formatAgo(seconds);
  return formatDay(at, now);
}

/** How long something took, in its two largest units: 45 s, 4 min 12 s, 2 h 5 min, 3 d 4 h. */
export function formatDuration(seconds: number): string {
  if (seconds < 0) return `−${formatDuration(-seconds)}`;
  if (seconds < MINUTE_S)
    return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < HOUR_S) return formatTwoUnits(whole, MINUTE_S, 'min', 1, 's');
  if (whole < DAY_S) return formatTwoUnits(whole, HOUR_S, 'h', MINUTE_S, 'min');
  return formatTwoUnits(whole, DAY_S, 'd', HOUR_S, 'h');
}

/** A short duration in the unit that reads best: 3.7 s, 49.2 ms, 38.4 µs. */
export function formatMs(ms: number): string {
  const size = Math.abs(ms);
  if (size >= 1000) return `${formatValue(ms / 1000, 3)} s`;
  if (size >= 0.1 || size === 0) return `${formatValue(ms, 3)} ms`;
  return formatUs(ms * 1000);
}

/** The same, from microseconds. */
export function formatUs(us: number): string {
  const size = Math.abs(us);
  if (size >= 1000) return formatMs(us / 1000);
  return size >= 0.1 || size === 0 ? `${formatValue(us, 3)} µs` : `${formatValue(us * 1000, 3)} ns`;
}

function formatTwoUnits(
  whole: number,
  large: number,
  unit: string,
  small: number,
  smaller: string,
): string {
  const rest = Math.floor((whole % large) / small);
  return `${groupDigits(Math.floor(whole / large))} ${unit}${rest ? ` ${rest} ${smaller}` : ''}`;
}

/** A place in something that plays, to the millisecond where that is asked for: 1:02, 0:01.250. */
export function formatPlaybackTime(seconds: number, fine = false): string {
  const whole = fine ? Math.round(seconds * 1000) / 1000 : Math.floor(seconds + 1e-6);
  const minutes = Math.floor(whole / MINUTE_S);
  const rest = (whole - minutes * MINUTE_S).toFixed(fine ? 3 : 0).padStart(fine ? 6 : 2, '0');
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** A frequency, or how many samples there are a second: 440 Hz, 44.1 kHz. */
export function formatHz(hz: number): string {
  if (hz < 1000) return `${Math.round(hz)} Hz`;
  return `${Number((hz / 1000).toFixed(hz < 10_000 ? 2 : 1))} kHz`;
}

/** A level: −12 dB. */
export function formatDb(db: number): string {
  return `${withMinusSign(String(Math.round(db) || 0))} dB`;
}

/** The time of day, with the date where that is not today. */
export function formatTimeOrDate(at: Date, now: Date): string {
  const time = formatTime(at).slice(0, 5);
  return at.toDateString() === now.toDateString() ? time : `${formatDay(at, now)}, ${time}`;
}

/** A moment to the second, for hovers. */
export function formatDateTime(at: Date): string {
  return `${formatDay(at)}, ${formatTime(at)}`;
}

/** A day, without the year where it is this one. */
function formatDay(at: Date, now?: Date): string {
  const day = `${at.getDate()} ${MONTHS[at.getMonth()]}`;
  return at.getFullYear() === now?.getFullYear() ? day : `${day} ${at.getFullYear()}`;
}

function formatTime(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** A whole number in groups of three digits. */
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
  // 999.95 rounds up to 1000.0, which is already the next unit.
  const power = Math.floor(Math.log10(Math.max(1, Math.abs(value) * 1.00005)) / 3);
  return Math.min(units.length - 1, power);
}

function roundForDisplay(value: number): string {
  return String(Math.abs(value) < 100 ? Number(value.toFixed(1)) : Math.round(value));
}

/** The real minus sign, as wide as a plus. */
function withMinusSign(text: string): string {
  return text.replace(/^-/, '−');
}
