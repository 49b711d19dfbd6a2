/** Values with 95 % intervals as text, and why there is none. */
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/what_if';
import { formatValue } from '../../../lib/format';
import type { Interval } from './threshold-intervals';

const DIGITS = 3;

/** Whether an interval is known; samples that are all equal say nothing about the variation. */
export function hasInterval({ low, high }: Interval): boolean {
  return !Number.isNaN(low) && low < high;
}

export function formatWithInterval(
  value: number,
  interval: Interval,
  format: (value: number) => string = (one) => formatValue(one, DIGITS),
): string {
  if (Number.isNaN(value)) return common.noValueSign;
  if (!hasInterval(interval)) return m.withoutInterval({ value: format(value) });
  const { low, high } = interval;
  return m.withInterval({ value: format(value), low: format(low), high: format(high) });
}

/** Return the bounds alone, beside a value. */
export function formatBounds(interval: Interval): string {
  if (!hasInterval(interval)) return '';
  const [low, high] = [formatValue(interval.low, DIGITS), formatValue(interval.high, DIGITS)];
  return m.shortInterval({ low, high });
}

/** Return the interval as a sentence, or the reason why there is none. */
export function describeInterval(value: number, interval: Interval): string {
  const { low, high } = interval;
  if (Number.isNaN(value)) return m.valueUndefined;
  if (hasInterval(interval))
    return m.intervalIs({ low: formatValue(low), high: formatValue(high) });
  return Number.isNaN(low) ? m.intervalUndefined : m.intervalConstant;
}
