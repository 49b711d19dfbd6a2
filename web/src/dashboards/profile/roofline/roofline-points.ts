import type { RooflineResponse } from '../schemas';

/** An op below the roof. */
export interface RooflinePoint {
  readonly name: string;
  readonly type: string;
  readonly count: number;
  readonly ms: number;
  /** Operations and bytes a second. */
  readonly flopsPerS: number;
  readonly bytesPerS: number;
  /** Operations for each byte. */
  readonly intensity: number;
  /** What it would be limited by if it were as fast as can be; empty where nobody knows. */
  readonly bound: 'compute' | 'memory' | '';
  /** How much of that limit it reaches; NaN where nobody knows. */
  readonly utilization: number;
  readonly longestEvent: number;
  /** Time in the other capture; null where nothing is compared. */
  readonly baseline: number | null;
}

const MS_PER_S = 1000;

/** Ops that compute something; those that only move bytes have no place on this picture. */
export function makeRooflinePoints(
  one: RooflineResponse,
  other: RooflineResponse | null,
): RooflinePoint[] {
  const steps = other ? Math.max(one.steps, 1) : 1;
  const before = other && getTimesByName(other);
  return one.names.flatMap((name, at) => {
    const [flops, bytes] = [one.flops[at] ?? 0, one.bytes[at] ?? 0];
    const ms = one.self_ms[at] ?? 0;
    if (flops <= 0 || bytes <= 0 || ms <= 0) return [];
    const point = {
      name,
      type: one.types[at] ?? '',
      count: (one.counts[at] ?? 0) / steps,
      ms: ms / steps,
      flopsPerS: (flops / ms) * MS_PER_S,
      bytesPerS: (bytes / ms) * MS_PER_S,
      intensity: flops / bytes,
      longestEvent: one.longest[at] ?? -1,
      baseline: before && (before.get(name) ?? 0),
    };
    return [{ ...point, ...computeBound(one, point) }];
  });
}

function getTimesByName(answer: RooflineResponse): Map<string, number> {
  const steps = Math.max(answer.steps, 1);
  return new Map(answer.names.map((name, at) => [name, (answer.self_ms[at] ?? 0) / steps]));
}

function computeBound(
  { roofs, bytes_per_s }: RooflineResponse,
  { flopsPerS, intensity }: Pick<RooflinePoint, 'flopsPerS' | 'intensity'>,
): Pick<RooflinePoint, 'bound' | 'utilization'> {
  // The lowest roof that it is not above already: nobody says on which units it ran.
  const roof = roofs.map(({ flops_per_s }) => flops_per_s).find((most) => flopsPerS <= most);
  if (roof === undefined || bytes_per_s <= 0) return { bound: '', utilization: NaN };
  const slope = intensity * bytes_per_s;
  return {
    bound: slope < roof ? 'memory' : 'compute',
    utilization: flopsPerS / Math.min(slope, roof),
  };
}

/** From where to where the picture reaches: all points and roofs, in whole powers of ten. */
export function getAxisRanges(answer: RooflineResponse, points: readonly RooflinePoint[]) {
  const highest = Math.max(1, ...answer.roofs.map(({ flops_per_s }) => flops_per_s));
  const ridge = answer.bytes_per_s > 0 ? highest / answer.bytes_per_s : 1;
  return {
    x: roundToDecades([0.1, 10 * ridge, ...points.map(({ intensity }) => intensity)]),
    y: roundToDecades([
      ...(answer.roofs.length ? [highest] : []),
      ...points.map(({ flopsPerS }) => flopsPerS),
    ]),
  };
}

function roundToDecades(values: readonly number[]): readonly [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(low) || low <= 0) return [1, 10];
  const from = 10 ** Math.floor(Math.log10(low));
  return [from, Math.max(10 * from, 10 ** Math.ceil(Math.log10(high)))];
}
