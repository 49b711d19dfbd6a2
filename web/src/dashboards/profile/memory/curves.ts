import { RUN_COLOURS } from '../../../base/colour';
import { formatBytes } from '../../../base/format';
import type { Flag, Line, Mark } from '../../../charts/types';
import type { AllocatorRow } from './answers';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;
const [BLUE, ORANGE, , PINK] = RUN_COLOURS;

/** The unit in which the most that is drawn has one to three digits. */
export function unitOf(bytes: number): { readonly name: string; readonly bytes: number } {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(bytes || 1) / 3)));
  return { name: UNITS[power] ?? 'B', bytes: 1000 ** power };
}

/** Memory over time: it stays as it is until the next time that something is taken or given back. */
export function linesOf(one: AllocatorRow, other: AllocatorRow | null, unit: number): Line[] {
  const line = (
    id: string,
    colour: string,
    from: AllocatorRow,
    of: (at: number) => number,
    dash: readonly number[] = [],
  ): Line => {
    const start = from.ms[0] ?? 0;
    // Another capture began at another time; both begin where their first event is.
    const shift = from === one ? 0 : (one.ms[0] ?? 0) - start;
    return { id, label: id, colour, dash, axis: 0, ...stairs(from.ms, of, shift, unit) };
  };
  const inUse = (from: AllocatorRow) => (at: number) =>
    (from.heap[at] ?? 0) + (from.stack[at] ?? 0);
  const held = (at: number): number => inUse(one)(at) + (one.cache[at] ?? 0);
  return [
    ...(one.cache.some((bytes) => bytes > 0) ? [line('held', PINK, one, held)] : []),
    ...(one.stack.some((bytes) => bytes > 0)
      ? [line('stack', ORANGE, one, (at) => one.stack[at] ?? 0)]
      : []),
    ...(other ? [line('before', '#8e8e9c', other, inUse(other), [4, 3])] : []),
    { ...line('in use', BLUE, one, inUse(one)), marks: [peakOf(one, unit)] },
  ];
}

function peakOf({ peak }: AllocatorRow, unit: number): Mark {
  const bytes = peak.heap + peak.stack;
  return { x: peak.ms, y: bytes / unit, kind: 'max', text: `peak ${formatBytes(bytes)}` };
}

/** Each value holds up to the next: two points for each but the last. */
export function stairs(
  ms: Float64Array,
  of: (at: number) => number,
  shift: number,
  unit: number,
): { readonly x: Float64Array; readonly y: Float64Array } {
  const count = Math.max(0, 2 * ms.length - 1);
  const [x, y] = [new Float64Array(count), new Float64Array(count)];
  for (let at = 0; at < count; at++) {
    x[at] = (ms[(at + 1) >> 1] ?? 0) + shift;
    y[at] = of(at >> 1) / unit;
  }
  return { x, y };
}

/** Where steps begin, as long as there are few of them. */
export function flagsOf(names: readonly string[], starts: Float64Array): Flag[] {
  const MOST_STEPS = 12;
  if (starts.length > MOST_STEPS) return [];
  return Array.from(starts, (x, at) => ({ id: `step ${at}`, x, text: names[at] ?? '' }));
}
