import type { ScaleKind, Span, XFormat } from '../types';
import { formatDecade, formatTicks } from './labels';
import { clockTicks, durationTicks } from './times';

export interface Tick {
  readonly value: number;
  readonly text: string;
}

/** Marks along an axis at numbers that people like, about `count` of them. */
export function ticksOf(kind: ScaleKind, format: XFormat, domain: Span, count: number): Tick[] {
  if (format === 'time') return clockTicks(domain, count);
  if (kind === 'log') return logTicks(domain, count);
  if (format === 'duration') return durationTicks(domain, count);
  return linearTicks(domain, count, format === 'step' ? 1 : 0);
}

/** A step of 1, 2 or 5 times a power of ten that divides a span into about `count` parts. */
export function niceStep(span: number, count: number): number {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const part = rough / power;
  // Halfway between two of them is where one is as many times too large as the other too small.
  if (part < Math.sqrt(2)) return power;
  if (part < Math.sqrt(10)) return 2 * power;
  return part < Math.sqrt(50) ? 5 * power : 10 * power;
}

/** The multiples of a step in a domain; a hair beyond an end still counts as in it. */
export function multiplesOf(step: number, [low, high]: Span): number[] {
  const slack = 1e-9;
  const first = Math.ceil(low / step - slack);
  const last = Math.floor(high / step + slack);
  const values: number[] = [];
  for (let at = first; at <= last; at++) values.push(clean(at * step, step));
  return values;
}

/** Multiples of 0.1 pick up digits of their own on the way: 0.30000000000000004. */
function clean(value: number, step: number): number {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(step)));
  return digits > 100 ? value : Number(value.toFixed(Math.min(100, digits)));
}

/**
 * The nearest multiples of a nice step around a span. The wider span may have a larger step, at whose
 * multiples its ends then have to be, as every end is to have a tick.
 */
export function niceSpan(span: Span, count: number): Span {
  const step = niceStep(span[1] - span[0], count);
  if (!(step > 0) || !Number.isFinite(step)) return span;
  const wider = spanInSteps(span, step);
  const larger = niceStep(wider[1] - wider[0], count);
  return larger > step ? spanInSteps(span, larger) : wider;
}

function spanInSteps([low, high]: Span, step: number): Span {
  // 0.8 in 32 bits is a little more than 0.8, and not to be rounded up to 0.9.
  const slack = 1e-6;
  const first = Math.floor(low / step + slack);
  const last = Math.ceil(high / step - slack);
  return [clean(first * step, step), clean(last * step, step)];
}

function linearTicks(domain: Span, count: number, finest = 0): Tick[] {
  const step = Math.max(finest, niceStep(domain[1] - domain[0], count));
  // Beyond the digits of a number there is nothing between two of them.
  if (!(step > 0) || !Number.isFinite(step)) return formatTicks([domain[0]], 1);
  return formatTicks(multiplesOf(step, domain), step);
}

/** What powers of ten are multiplied with, when there is room for `count` labels. */
function factorsFor(decades: number, count: number): readonly number[] {
  if (3 * decades <= count) return [1, 2, 5];
  return 2 * decades <= count + 1 ? [1, 3] : [1];
}

/** Powers of ten; where few of them are seen also 2 and 5 times these, or plain numbers. */
function logTicks(domain: Span, count: number): Tick[] {
  const [low, high] = [Math.log10(domain[0]), Math.log10(domain[1])];
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [];
  if (high - low < 1) return linearTicks(domain, count);
  const every = Math.max(1, Math.ceil((high - low) / Math.max(1, count)));
  const factors = factorsFor(high - low, count);
  const powers = multiplesOf(every, [Math.floor(low), Math.ceil(high)]);
  return powers
    .flatMap((power) => factors.map((factor) => factor * 10 ** power))
    .filter((value) => value >= domain[0] * (1 - 1e-9) && value <= domain[1] * (1 + 1e-9))
    .map((value) => ({ value, text: formatDecade(value) }));
}
