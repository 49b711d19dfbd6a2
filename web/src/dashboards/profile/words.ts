import { formatValue } from '../../base/format';

const US_PER_MS = 1000;

/** A time in the unit that reads best: 1.204 s, 49.2 ms, 38 µs. */
export function formatMs(ms: number): string {
  const size = Math.abs(ms);
  if (size >= US_PER_MS) return `${round(ms / 1000)} s`;
  if (size >= 0.1 || size === 0) return `${round(ms)} ms`;
  return formatUs(ms * US_PER_MS);
}

export function formatUs(us: number): string {
  const size = Math.abs(us);
  if (size >= US_PER_MS) return formatMs(us / US_PER_MS);
  return size >= 0.1 || size === 0 ? `${round(us)} µs` : `${round(us * 1000)} ns`;
}

/** A part of one: 86.8 %. Next to nothing and next to all are told from nothing and all. */
export function formatShare(share: number): string {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent < 100 && percent > 99.9) return '> 99.9 %';
  return `${round(percent)} %`;
}

function round(value: number): string {
  return formatValue(value, 3);
}
