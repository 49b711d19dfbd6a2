/** Numbers along an axis: short, and with as many digits as their neighbours need. */

import type { Tick } from './ticks';

const SI = ['', 'k', 'M', 'G', 'T'];
const MANY = 10_000;
/** Beyond a trillion letters say less than an exponent. */
const HUGE = 1e15;
const FEW = 1e-3;

/** All values in one unit, so that they can be compared at a glance. */
export function formatTicks(values: readonly number[], step: number): Tick[] {
  const size = Math.max(...values.map(Math.abs));
  const format = formatFor(size, step);
  return values.map((value) => ({ value, text: value === 0 ? '0' : minus(format(value)) }));
}

function formatFor(size: number, step: number): (value: number) => string {
  if (size >= HUGE || size < FEW) return (value) => shortExponent(value, size, step);
  if (size < MANY) return (value) => value.toFixed(decimalsOf(step));
  const power = Math.floor(Math.log10(size * (1 + 1e-9)) / 3);
  const unit = 1000 ** power;
  return (value) => `${(value / unit).toFixed(decimalsOf(step / unit))}${SI[power]}`;
}

function decimalsOf(step: number): number {
  return Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

function shortExponent(value: number, size: number, step: number): string {
  const digits = Math.floor(Math.log10(size)) - Math.floor(Math.log10(step) + 1e-9);
  return value
    .toExponential(Math.min(20, Math.max(0, digits)))
    .replace(/(?:\.0+|(\.\d*?)0+)e/, '$1e')
    .replace('e+', 'e');
}

/** A number on a log axis: 1e-4, 0.05, 300, 20k. */
export function formatDecade(value: number): string {
  if (value < 0.01 || value >= HUGE) return value.toExponential(0).replace('e+', 'e');
  if (value < MANY) return String(Number(value.toPrecision(3)));
  const power = Math.floor(Math.log10(value * (1 + 1e-9)) / 3);
  return `${Number((value / 1000 ** power).toPrecision(3))}${SI[power]}`;
}

/** The real minus sign, as wide as a plus. */
function minus(text: string): string {
  return text.replace(/^-/, '−');
}
