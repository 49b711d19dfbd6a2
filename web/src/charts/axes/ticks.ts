/** Scales of axes, and their ticks with labels. */
import { tickStep } from 'd3-array';

import * as m from '../../catalog/charts';
import { intlLocale } from '../../i18n/messages';
import { formatDateTime, formatStep, formatValue } from '../../lib/format';
import type { AxisFormat, NumberRange, ScaleType } from '../types';

export interface Tick {
  readonly value: number;
  readonly label: string;
}

/** Return about `count` ticks at round values. */
export function makeTicks(
  kind: ScaleType,
  format: AxisFormat,
  domain: NumberRange,
  count: number,
): Tick[] {
  if (format === 'time') return makeClockTicks(domain, count);
  if (kind === 'log') return makeLogTicks(domain, count);
  if (format === 'duration') return makeDurationTicks(domain, count);
  return makeLinearTicks(domain, count, format === 'step' ? 1 : 0);
}

/**
 * Return a step of 1, 2 or 5 times a power of ten that divides a range into about `count` parts.
 */
export function niceStep(range: number, count: number): number {
  return tickStep(0, range, Math.max(1, count));
}

/** Return the multiples of a step within a domain, with a tolerance for rounding errors. */
export function listMultiples(step: number, [low, high]: NumberRange): number[] {
  const slack = 1e-9;
  const first = Math.ceil(low / step - slack);
  const last = Math.floor(high / step + slack);
  const values: number[] = [];
  for (let at = first; at <= last; at++) values.push(roundToStep(at * step, step));
  return values;
}

/** Remove floating-point noise such as 0.30000000000000004. */
function roundToStep(value: number, step: number): number {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(step)));
  return digits > 100 ? value : Number(value.toFixed(Math.min(100, digits)));
}

/** Round the ends to this many digits of the width, and so that no value leaves the range. */
export function roundRangeOutward([low, high]: NumberRange, digits: number): NumberRange {
  const size = Math.max(high - low, Math.abs(low) * 1e-9, Math.abs(high) * 1e-9);
  if (!(size > 0) || !Number.isFinite(size)) return [low, high];
  const unit = 10 ** (Math.floor(Math.log10(size)) - digits);
  const round = (count: number): number => Number((count * unit).toPrecision(15));
  return [round(Math.floor(low / unit)), round(Math.ceil(high / unit))];
}

/** The largest share of a range that rounding may leave empty at one end. */
const MAX_EMPTY_SHARE = 0.3;

/**
 * Round a range outwards to multiples of a nice step. The rounded range may have a larger step; its
 * ends are then multiples of that one, so that both have a tick. An end that would leave much of
 * the chart empty is rounded to a fifth of the step instead.
 */
export function niceRange(span: NumberRange, count: number): NumberRange {
  const step = niceStep(span[1] - span[0], count);
  if (!(step > 0) || !Number.isFinite(step)) return span;
  const wider = expandToMultiples(span, step);
  const larger = Math.max(step, niceStep(wider[1] - wider[0], count));
  const [low, high] = expandToMultiples(span, larger);
  const [closeLow, closeHigh] = expandToMultiples(span, larger / 5);
  const maxEmpty = MAX_EMPTY_SHARE * (span[1] - span[0]);
  return [span[0] - low > maxEmpty ? closeLow : low, high - span[1] > maxEmpty ? closeHigh : high];
}

function expandToMultiples([low, high]: NumberRange, step: number): NumberRange {
  // 0.8 as float32 is slightly above 0.8 and must not be rounded up to 0.9.
  const slack = 1e-6;
  const first = Math.floor(low / step + slack);
  const last = Math.ceil(high / step - slack);
  return [roundToStep(first * step, step), roundToStep(last * step, step)];
}

function makeLinearTicks(domain: NumberRange, count: number, finest = 0): Tick[] {
  const step = Math.max(finest, niceStep(domain[1] - domain[0], count));
  // The range is below the resolution of doubles.
  if (!(step > 0) || !Number.isFinite(step)) return formatTicks([domain[0]], 1);
  return formatTicks(listMultiples(step, domain), step);
}

/** Return the factors of powers of ten for about `count` labels. */
function chooseLogFactors(decades: number, count: number): readonly number[] {
  if (3 * decades <= count) return [1, 2, 5];
  return 2 * decades <= count + 1 ? [1, 3] : [1];
}

/** Return powers of ten, with multiples if they fit, or linear ticks within a decade. */
function makeLogTicks(domain: NumberRange, count: number): Tick[] {
  const [low, high] = [Math.log10(domain[0]), Math.log10(domain[1])];
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [];
  if (high - low < 1) return makeLinearTicks(domain, count);
  const every = Math.max(1, Math.ceil((high - low) / Math.max(1, count)));
  const factors = chooseLogFactors(high - low, count);
  const powers = listMultiples(every, [Math.floor(low), Math.ceil(high)]);
  return powers
    .flatMap((power) => factors.map((factor) => factor * 10 ** power))
    .filter((value) => value >= domain[0] * (1 - 1e-9) && value <= domain[1] * (1 + 1e-9))
    .map((value) => ({ value, label: formatLogTick(value) }));
}

const SI_SUFFIXES = ['', 'k', 'M', 'G', 'T'];
const SI_FROM = 10_000;
/** From here on, an exponent is clearer than an SI suffix. */
const EXPONENT_FROM = 1e15;
const EXPONENT_BELOW = 1e-3;

/** Format ticks in the same unit and precision. */
export function formatTicks(values: readonly number[], step: number): Tick[] {
  const size = Math.max(...values.map(Math.abs));
  const format = chooseTickFormat(size, step);
  return values.map((value) => ({ value, label: value === 0 ? '0' : toMinusSign(format(value)) }));
}

function chooseTickFormat(size: number, step: number): (value: number) => string {
  if (size >= EXPONENT_FROM || size < EXPONENT_BELOW)
    return (value) => formatExponent(value, size, step);
  if (size < SI_FROM) return (value) => value.toFixed(countDecimals(step));
  const power = Math.floor(Math.log10(size * (1 + 1e-9)) / 3);
  const unit = 1000 ** power;
  return (value) => `${(value / unit).toFixed(countDecimals(step / unit))}${SI_SUFFIXES[power]}`;
}

function countDecimals(step: number): number {
  return Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

function formatExponent(value: number, size: number, step: number): string {
  const digits = Math.floor(Math.log10(size)) - Math.floor(Math.log10(step) + 1e-9);
  return value
    .toExponential(Math.min(20, Math.max(0, digits)))
    .replace(/(?:\.0+|(\.\d*?)0+)e/, '$1e')
    .replace('e+', 'e');
}

/** Format a tick of a log axis: 1e-4, 0.05, 300, 20k. */
export function formatLogTick(value: number): string {
  if (value < 0.01 || value >= EXPONENT_FROM) return value.toExponential(0).replace('e+', 'e');
  if (value < SI_FROM) return String(Number(value.toPrecision(3)));
  const power = Math.floor(Math.log10(value * (1 + 1e-9)) / 3);
  return `${Number((value / 1000 ** power).toPrecision(3))}${SI_SUFFIXES[power]}`;
}

/** Replace the hyphen by a minus sign, which is as wide as a plus. */
function toMinusSign(text: string): string {
  return text.replace(/^-/, '−');
}

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
const TIME_STEPS_S = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_S),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_S),
  ...[1, 2, 7, 14].map((days) => days * DAY_S),
];
const MONTH_STEPS = [1, 2, 3, 6, 12];
const MONTH_S = 30.4 * DAY_S;

/** Return ticks of a duration in seconds. */
export function makeDurationTicks(domain: NumberRange, count: number): Tick[] {
  const span = domain[1] - domain[0];
  const step = findTimeStep(span, count) ?? niceStep(span / DAY_S, count) * DAY_S;
  if (!(step > 0)) return [];
  return listMultiples(step, domain).map((value) => ({ value, label: formatDurationTick(value) }));
}

function findTimeStep(span: number, count: number): number | undefined {
  if (span / count < 1) return niceStep(span, count);
  return TIME_STEPS_S.find((step) => span / step <= count);
}

/** Format a duration compactly, with at most two units: 250 ms, 45 s, 1 min 30 s, 2 h, 3 d 12 h. */
export function formatDurationTick(seconds: number): string {
  if (seconds === 0) return '0';
  const sign = seconds < 0 ? '−' : '';
  const size = Math.abs(seconds);
  if (size < 1)
    return sign + m.tickMilliseconds({ value: String(Number((size * 1000).toPrecision(6))) });
  if (size < MINUTE_S) return sign + m.tickSeconds({ value: String(Number(size.toPrecision(6))) });
  const units = [
    [Math.floor(size / DAY_S), (value: number) => m.tickDays({ value })],
    [Math.floor((size % DAY_S) / HOUR_S), (value: number) => m.tickHours({ value })],
    [Math.floor((size % HOUR_S) / MINUTE_S), (value: number) => m.tickMinutes({ value })],
    [Math.round(size % MINUTE_S), (value: number) => m.tickSeconds({ value })],
  ] as const;
  const first = units.findIndex(([amount]) => amount > 0);
  const shown = units.slice(first, first + 2).filter(([amount]) => amount > 0);
  return sign + shown.map(([amount, format]) => format(amount)).join(' ');
}

/** Return ticks in local time; the domain is in seconds since 1970. */
export function makeClockTicks(domain: NumberRange, count: number): Tick[] {
  const span = domain[1] - domain[0];
  if (span / count > 14 * DAY_S) return makeMonthTicks(domain, count);
  const step = findTimeStep(span, count);
  if (step === undefined || !(step > 0)) return [];
  return listLocalMultiples(step, domain, getTimezoneOffset).map((value) => ({
    value,
    label: formatClockTick(new Date(value * 1000), step),
  }));
}

/** Return the offset of local time from UTC in seconds, positive to the west. */
function getTimezoneOffset(time: number): number {
  return new Date(time * 1000).getTimezoneOffset() * MINUTE_S;
}

/**
 * Return the multiples of a step in local time, as UTC times. The offset is determined for each of
 * them, as it changes with daylight saving time.
 */
export function listLocalMultiples(
  step: number,
  [low, high]: NumberRange,
  getOffset: (time: number) => number,
): number[] {
  const local: NumberRange = [low - getOffset(low), high - getOffset(high)];
  const times = listMultiples(step, local).map(
    (value) => value + getOffset(value + getOffset(low)),
  );
  return [...new Set(times)].filter((time) => time >= low && time <= high);
}

function makeMonthTicks([low, high]: NumberRange, count: number): Tick[] {
  const months = MONTH_STEPS.find((step) => (high - low) / (step * MONTH_S) <= count);
  const step = months ?? 12 * niceStep((high - low) / (12 * MONTH_S), count);
  const first = new Date(low * 1000);
  const ticks: Tick[] = [];
  for (let month = 0; ticks.length <= 2 * count; month += step) {
    const at = new Date(first.getFullYear(), month, 1);
    if (at.getTime() / 1000 > high) break;
    if (at.getTime() / 1000 < low) continue;
    const text =
      at.getMonth() === 0 ? String(at.getFullYear()) : formatDate(at, { month: 'short' });
    ticks.push({ value: at.getTime() / 1000, label: text });
  }
  return ticks;
}

/** Format a time, or the date at midnight. */
function formatClockTick(at: Date, step: number): string {
  const isMidnight = at.getHours() + at.getMinutes() + at.getSeconds() === 0;
  if (isMidnight || step >= DAY_S) return formatDate(at, { day: 'numeric', month: 'short' });
  if (step >= MINUTE_S) return formatDate(at, { hour: '2-digit', minute: '2-digit' });
  const fine = step < 1 ? { fractionalSecondDigits: 3 as const } : {};
  return formatDate(at, { hour: '2-digit', minute: '2-digit', second: '2-digit', ...fine });
}

function formatDate(at: Date, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(intlLocale === 'en' ? 'en-GB' : intlLocale, options).format(at);
}

/** Format a value of the x axis. */
export function formatAxisValue(x: number, format: AxisFormat): string {
  if (format === 'time') return formatDateTime(new Date(x * 1000));
  if (format === 'duration') return formatDurationTick(x);
  return format === 'step' ? formatStep(Math.round(x)) : formatValue(x);
}

/** Maps values to pixels and back. */
export interface Scale {
  readonly kind: ScaleType;
  readonly domain: NumberRange;
  readonly range: NumberRange;
  /** Return the pixel of a value. Values that a log scale cannot show are far below it. */
  toPixel(value: number): number;
  toValue(pixel: number): number;
}

/** Outside of any screen, but canvases still draw lines to it. */
const MAX_PIXEL = 1e7;

export function makeScale(kind: ScaleType, domain: NumberRange, range: NumberRange): Scale {
  return kind === 'log' ? makeLogScale(domain, range) : makeLinearScale(domain, range);
}

function makeLinearScale(domain: NumberRange, range: NumberRange): Scale {
  const [low, high] = domain;
  const [from, to] = range;
  const slope = high === low ? 0 : (to - from) / (high - low);
  return {
    kind: 'linear',
    domain,
    range,
    toPixel: (value) => clampPixel(from + (value - low) * slope),
    toValue: (pixel) => (slope === 0 ? low : low + (pixel - from) / slope),
  };
}

function makeLogScale(domain: NumberRange, range: NumberRange): Scale {
  const [from, to] = range;
  const low = Math.log10(domain[0]);
  const high = Math.log10(domain[1]);
  const slope = high === low ? 0 : (to - from) / (high - low);
  const below = from - Math.sign(to - from) * MAX_PIXEL;
  return {
    kind: 'log',
    domain,
    range,
    toPixel: (value) => (value <= 0 ? below : clampPixel(from + (Math.log10(value) - low) * slope)),
    toValue: (pixel) => 10 ** (slope === 0 ? low : low + (pixel - from) / slope),
  };
}

function clampPixel(pixel: number): number {
  if (pixel > MAX_PIXEL) return MAX_PIXEL;
  return pixel < -MAX_PIXEL ? -MAX_PIXEL : pixel;
}
