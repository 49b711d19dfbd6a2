import type { Span } from '../types';
import type { Tick } from './ticks';
import { multiplesOf, niceStep } from './ticks';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14].map((days) => days * DAY),
];
const MONTHS = [1, 2, 3, 6, 12];
const MONTH = 30.4 * DAY;

/** Ticks along seconds that have passed. */
export function durationTicks(domain: Span, count: number): Tick[] {
  const span = domain[1] - domain[0];
  const step = stepFor(span, count) ?? niceStep(span / DAY, count) * DAY;
  if (!(step > 0)) return [];
  return multiplesOf(step, domain).map((value) => ({ value, text: formatDuration(value) }));
}

function stepFor(span: number, count: number): number | undefined {
  if (span / count < 1) return niceStep(span, count);
  return STEPS.find((step) => span / step <= count);
}

/** 250 ms, 45 s, 1m 30s, 2h, 3d 12h: at most two units. */
export function formatDuration(seconds: number): string {
  if (seconds === 0) return '0';
  const sign = seconds < 0 ? '−' : '';
  const size = Math.abs(seconds);
  if (size < 1) return `${sign}${Number((size * 1000).toPrecision(6))}ms`;
  if (size < MINUTE) return `${sign}${Number(size.toPrecision(6))}s`;
  const units = [
    [Math.floor(size / DAY), 'd'],
    [Math.floor((size % DAY) / HOUR), 'h'],
    [Math.floor((size % HOUR) / MINUTE), 'm'],
    [Math.round(size % MINUTE), 's'],
  ] as const;
  const first = units.findIndex(([amount]) => amount > 0);
  const shown = units.slice(first, first + 2).filter(([amount]) => amount > 0);
  return sign + shown.map(([amount, unit]) => `${amount}${unit}`).join(' ');
}

/** Ticks along the clock of this place, in seconds since 1970. */
export function clockTicks(domain: Span, count: number): Tick[] {
  const span = domain[1] - domain[0];
  if (span / count > 14 * DAY) return monthTicks(domain, count);
  const step = stepFor(span, count);
  if (step === undefined || !(step > 0)) return [];
  // Whole hours and days are those of this place, not of Greenwich.
  const offset = new Date(domain[0] * 1000).getTimezoneOffset() * MINUTE;
  const local: Span = [domain[0] - offset, domain[1] - offset];
  return multiplesOf(step, local).map((value) => {
    const at = value + offset;
    return { value: at, text: formatClockTick(new Date(at * 1000), step) };
  });
}

function monthTicks([low, high]: Span, count: number): Tick[] {
  const months = MONTHS.find((step) => (high - low) / (step * MONTH) <= count);
  const step = months ?? 12 * niceStep((high - low) / (12 * MONTH), count);
  const first = new Date(low * 1000);
  const ticks: Tick[] = [];
  for (let month = 0; ticks.length <= 2 * count; month += step) {
    const at = new Date(first.getFullYear(), month, 1);
    if (at.getTime() / 1000 > high) break;
    if (at.getTime() / 1000 < low) continue;
    const text = at.getMonth() === 0 ? String(at.getFullYear()) : word(at, { month: 'short' });
    ticks.push({ value: at.getTime() / 1000, text });
  }
  return ticks;
}

/** At midnight the day is told, else the time. */
function formatClockTick(at: Date, step: number): string {
  const isMidnight = at.getHours() + at.getMinutes() + at.getSeconds() === 0;
  if (isMidnight || step >= DAY) return word(at, { day: 'numeric', month: 'short' });
  if (step >= MINUTE) return word(at, { hour: '2-digit', minute: '2-digit' });
  const fine = step < 1 ? { fractionalSecondDigits: 3 as const } : {};
  return word(at, { hour: '2-digit', minute: '2-digit', second: '2-digit', ...fine });
}

function word(at: Date, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', options).format(at);
}
