import { formatMoment, formatStep, formatValue } from '../../base/format';
import type { XFormat } from '../types';
import { formatDuration } from './times';

/** A place on a horizontal axis in words. */
export function formatPlace(x: number, format: XFormat): string {
  if (format === 'time') return formatMoment(new Date(x * 1000));
  if (format === 'duration') return formatDuration(x);
  return format === 'step' ? formatStep(Math.round(x)) : formatValue(x);
}
