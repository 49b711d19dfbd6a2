import type { CounterTrack } from '../../../../api/schemas';
import { getSpanLength, type TimeSpan } from './timeline-layout';

type Counter = Pick<CounterTrack, 'times' | 'values' | 'peak' | 'low'>;

/** Space above the highest value. */
const TOP_PX = 3;

/** Return the value of a counter at a time; null before its first. */
export function getCounterValue({ times, values }: Counter, timePs: number): number | null {
  const index = times.findLastIndex((time) => time <= timePs);
  return values[index] ?? null;
}

/** Return the area between a counter and 0 as an SVG path, with a step at each change. */
export function makeCounterPath(
  { times, values, peak, low }: Counter,
  span: TimeSpan,
  width: number,
  height: number,
): string {
  if (times.length === 0 || peak <= low) return '';
  const scale = width / getSpanLength(span);
  const getX = (ps: number): string => ((ps - span.start) * scale).toFixed(1);
  const getY = (value: number): string =>
    (height - ((value - low) / (peak - low)) * (height - TOP_PX)).toFixed(1);
  const zero = getY(0);
  const steps = Array.from(times, (time, index) => {
    const value = getY(values[index] ?? 0);
    return `${index === 0 ? '' : `H${getX(time)}`}V${value}`;
  });
  return `M${getX(times[0] ?? 0)} ${zero}${steps.join('')}H${getX(span.end)}V${zero}Z`;
}
