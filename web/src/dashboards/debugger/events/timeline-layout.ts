import type { ExecutionTimelineResponse } from '../../../api/schemas';

/** [start, end] in seconds. */
export type TimeRange = readonly [number, number];

/** Return the path of a bar chart whose bars touch: one column per count, drawn upwards. */
export function makeBarsPath(counts: Float64Array, width: number, height: number): string {
  const most = counts.reduce((most, count) => Math.max(most, count), 0);
  if (most === 0 || width <= 0) return '';
  const step = width / counts.length;
  const parts: string[] = [];
  counts.forEach((count, column) => {
    if (count === 0) return;
    // The square root keeps single events visible next to many.
    const size = Math.max(2, Math.sqrt(count / most) * height);
    const x = (column * step).toFixed(1);
    parts.push(
      `M${x} ${height}h${Math.max(1, step).toFixed(1)}v${-size.toFixed(1)}h${-Math.max(1, step).toFixed(1)}z`,
    );
  });
  return parts.join('');
}

/** Return the index of the first event in a column or after it; null if there is none. */
export function findEventIndex(counts: Float64Array, first: number, column: number): number | null {
  let index = first;
  for (let at = 0; at < counts.length; at++) {
    const count = counts[at] ?? 0;
    if (at >= column && count > 0) return index;
    index += count;
  }
  return index > first ? index - 1 : null;
}

export function countAll(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Return round times within a range, at most `most` of them. */
export function listTicks([start, end]: TimeRange, most: number): number[] {
  const span = end - start;
  if (!(span > 0) || most < 1) return [];
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => span / size <= most);
  if (step === undefined) return [];
  const first = Math.ceil(start / step);
  const last = Math.floor(end / step);
  return Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
}

/** Return the part of a range between two shares of its length. */
export function zoomRange([start, end]: TimeRange, one: number, other: number): TimeRange {
  const [low, high] = one < other ? [one, other] : [other, one];
  const span = end - start;
  return [start + Math.max(0, low) * span, start + Math.min(1, high) * span];
}

export function getRange({ start_s, end_s }: ExecutionTimelineResponse): TimeRange {
  return [start_s, end_s];
}
