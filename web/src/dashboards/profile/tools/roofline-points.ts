/** Points and peaks of the roofline, and the rates that a device achieved. */
import type { RooflineResponse, Utilization } from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';
import { formatBandwidth, formatFlopRate, formatPercent } from '../display';

/** An op in the chart. */
export interface RooflinePoint {
  readonly name: string;
  readonly type: string;
  readonly count: number;
  readonly ms: number;
  readonly flopsPerS: number;
  readonly bytesPerS: number;
  /** Operations per byte. */
  readonly intensity: number;
  /** The resource that limits it at its intensity; empty if unknown. */
  readonly bound: 'compute' | 'memory' | '';
  /** The share of that limit that it reaches; NaN if unknown. */
  readonly utilization: number;
  readonly longestEvent: number;
  /** Time in the baseline capture; null without current. */
  readonly baseline: number | null;
}

const MS_PER_S = 1000;

/** Return the ops that compute something; others have no place on a logarithmic axis. */
export function makeRooflinePoints(
  current: RooflineResponse,
  baseline: RooflineResponse | null,
): RooflinePoint[] {
  const steps = baseline ? Math.max(current.steps, 1) : 1;
  const baselineTimes = baseline && getTimesByName(baseline);
  return current.names.flatMap((name, index) => {
    const [flops, bytes] = [current.flops[index] ?? 0, current.bytes[index] ?? 0];
    const ms = current.self_ms[index] ?? 0;
    if (!(flops > 0) || bytes <= 0 || ms <= 0) return [];
    const point = {
      name,
      type: current.types[index] ?? '',
      count: (current.counts[index] ?? 0) / steps,
      ms: ms / steps,
      flopsPerS: (flops / ms) * MS_PER_S,
      bytesPerS: (bytes / ms) * MS_PER_S,
      intensity: flops / bytes,
      longestEvent: current.longest[index] ?? -1,
      baseline: baselineTimes && (baselineTimes.get(name) ?? 0),
    };
    return [{ ...point, ...computeBound(current, point) }];
  });
}

function getTimesByName(response: RooflineResponse): Map<string, number> {
  const steps = Math.max(response.steps, 1);
  return new Map(
    response.names.map((name, index) => [name, (response.self_ms[index] ?? 0) / steps]),
  );
}

function computeBound(
  { roofs, bytes_per_s }: RooflineResponse,
  { flopsPerS, intensity }: Pick<RooflinePoint, 'flopsPerS' | 'intensity'>,
): Pick<RooflinePoint, 'bound' | 'utilization'> {
  // The units that it ran on are not recorded: take the lowest roof that it does not exceed.
  const roof = roofs.map(({ flops_per_s }) => flops_per_s).find((rate) => flopsPerS <= rate);
  if (roof === undefined || bytes_per_s <= 0) return { bound: '', utilization: NaN };
  const slope = intensity * bytes_per_s;
  return {
    bound: slope < roof ? 'memory' : 'compute',
    utilization: flopsPerS / Math.min(slope, roof),
  };
}

/** Return axis ranges that contain all points and roofs, from power of ten to power of ten. */
export function getAxisRanges(response: RooflineResponse, points: readonly RooflinePoint[]) {
  const highest = Math.max(1, ...response.roofs.map(({ flops_per_s }) => flops_per_s));
  const ridge = response.bytes_per_s > 0 ? highest / response.bytes_per_s : 1;
  return {
    x: roundToDecades([0.1, 10 * ridge, ...points.map(({ intensity }) => intensity)]),
    y: roundToDecades([
      ...(response.roofs.length ? [highest] : []),
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

export const PRECISION_LABELS: Readonly<Record<Utilization['precision'], string>> = {
  fp64: m.rooflineRoofFp64,
  fp32: m.rooflineRoofFp32,
  tf32: m.rooflineRoofTf32,
  fp16: m.rooflineRoofFp16,
  fp8: m.rooflineRoofFp8,
  fp4: m.rooflineRoofFp4,
  unknown: common.unknown,
};

/** A rate that the devices achieved. */
export interface AchievedRate {
  readonly id: 'flops' | 'bytes';
  readonly label: string;
  readonly value: string;
  /** The share of the peak and what that is, or why it is unknown. */
  readonly peak: string;
  readonly isPeakKnown: boolean;
  /** The same of each precision, if there are several. */
  readonly parts: readonly string[];
}

/** Return the rates of a capture; none if no cost of a device op is known. */
export function listAchievedRates(response: RooflineResponse): AchievedRate[] {
  const { device, utilization } = response;
  if (!utilization) return [];
  const { flops_per_s, bytes_per_s, peak_flops_per_s, peak_bytes_per_s } = utilization;
  const { precision, precisions } = utilization;
  const isMixed = precisions.length > 1;
  const unknown = explainUnknownPeak(response);
  const peakName = isMixed ? m.achievedPeakOfEach : PRECISION_LABELS[precision];
  return [
    {
      id: 'flops',
      label: m.rooflineTooltipFlops,
      value: formatFlopRate(flops_per_s, MS_PER_S),
      peak:
        describeShare(flops_per_s, peak_flops_per_s, formatFlopRate, `${device}, ${peakName}`) ??
        unknown,
      isPeakKnown: peak_flops_per_s !== null,
      parts: (isMixed ? precisions : []).map((part) => {
        const name = PRECISION_LABELS[part.precision];
        const rate = formatFlopRate(part.flops_per_s, MS_PER_S);
        if (part.peak_flops_per_s === null) return m.achievedPartWithoutPeak({ name, rate });
        const share = formatPercent(part.flops_per_s / part.peak_flops_per_s);
        const peak = formatFlopRate(part.peak_flops_per_s, MS_PER_S);
        return m.achievedPart({ name, rate, share, peak });
      }),
    },
    {
      id: 'bytes',
      label: m.rooflineTooltipBandwidth,
      value: formatBandwidth(bytes_per_s, MS_PER_S),
      peak: describeShare(bytes_per_s, peak_bytes_per_s, formatBandwidth, device) ?? unknown,
      isPeakKnown: peak_bytes_per_s !== null,
      parts: [],
    },
  ];
}

function describeShare(
  value: number,
  peak: number | null,
  format: (perS: number, ms: number) => string,
  name: string,
): string | null {
  if (peak === null) return null;
  const share = formatPercent(value / peak);
  return m.achievedShare({ share, peak: format(peak, MS_PER_S), name });
}

function explainUnknownPeak({ device, roofs, utilization }: RooflineResponse): string {
  if (device === '') return m.achievedPeakWithoutDevice;
  if (roofs.length === 0) return m.achievedPeakOfDeviceUnknown({ device });
  const names = (utilization?.precisions ?? [])
    .filter((part) => part.peak_flops_per_s === null)
    .map(({ precision }) => precision);
  if (names.includes('unknown')) return m.achievedPeakWithoutTypes;
  const precision = names.map((name) => PRECISION_LABELS[name]).join(', ');
  return m.achievedPeakOfPrecisionUnknown({ device, precision });
}
