import type { RooflineResponse, Utilization } from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';
import { formatBandwidth, formatFlopRate, formatPercent } from '../display';

const MS_PER_S = 1000;

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
