import { expect, it } from 'vitest';

import type { PrecisionRate, RooflineResponse } from '../../../api/schemas';
import { listAchievedRates } from './achieved-rates';

function makeResponse(
  precisions: PrecisionRate[],
  peak_flops_per_s: number | null,
  device = 'NVIDIA H200',
): RooflineResponse {
  const isKnown = device === 'NVIDIA H200';
  return {
    device,
    roofs: isKnown ? [{ precision: 'fp32', flops_per_s: 67e12 }] : [],
    bytes_per_s: isKnown ? 4.8e12 : 0,
    is_estimate: false,
    names: [],
    types: [],
    counts: new Int32Array(),
    self_ms: new Float64Array(),
    flops: new Float64Array(),
    bytes: new Float64Array(),
    longest: new Int32Array(),
    steps: 1,
    utilization: {
      window_ms: 10,
      devices: 1,
      flops_per_s: precisions.reduce((sum, { flops_per_s }) => sum + flops_per_s, 0),
      bytes_per_s: 1.2e12,
      known_share: 1,
      precision: precisions[0]?.precision ?? 'unknown',
      peak_flops_per_s,
      peak_bytes_per_s: isKnown ? 4.8e12 : null,
      precisions,
    },
  };
}

const FP8 = { precision: 'fp8', flops_per_s: 989.5e12, peak_flops_per_s: 1979e12 } as const;
const FP16 = { precision: 'fp16', flops_per_s: 98.9e12, peak_flops_per_s: 989e12 } as const;

it('compares with the peak of the precision', () => {
  const [flops, bytes] = listAchievedRates(makeResponse([FP8], 1979e12));
  expect(flops?.peak).toBe('50% of 2 PFLOP/s (NVIDIA H200, 8-bit on tensor cores)');
  expect(flops?.parts).toEqual([]);
  expect(bytes?.peak).toBe('25% of 4.8 TB/s (NVIDIA H200)');
});

it('lists the shares of several precisions', () => {
  const [flops] = listAchievedRates(makeResponse([FP8, FP16], 1814e12));
  expect(flops?.peak).toContain('60% of');
  expect(flops?.parts).toHaveLength(2);
  expect(flops?.parts[1]).toMatch(/^16-bit on tensor cores: .*10% of 989 TFLOP\/s$/);
});

it('says why a peak is unknown', () => {
  const explain = (response: RooflineResponse) => listAchievedRates(response)[0]?.peak;
  const unknown = { ...FP8, peak_flops_per_s: null };
  expect(explain(makeResponse([unknown], null))).toContain(
    'no rate of NVIDIA H200 is known for 8-bit on tensor cores',
  );
  expect(explain(makeResponse([unknown, FP16], null))).toContain('8-bit');
  expect(explain(makeResponse([unknown], null, 'Some Device'))).toContain('Some Device');
  expect(explain(makeResponse([unknown], null, ''))).toContain('does not name');
  const untyped = { ...unknown, precision: 'unknown' } as const;
  expect(explain(makeResponse([FP16, untyped], null))).toContain('types');
});
