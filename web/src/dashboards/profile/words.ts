import { formatValue } from '../../base/format';

export { formatMs, formatUs } from '../../base/format';

/** A part of one: 86.8 %. Values next to nothing and next to all are told from 0 % and 100 %. */
export function formatShare(share: number): string {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent < 100 && percent > 99.9) return '> 99.9 %';
  return `${formatValue(percent, 3)} %`;
}
