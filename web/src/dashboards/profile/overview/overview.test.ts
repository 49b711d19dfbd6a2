import { describe, expect, it } from 'vitest';

import type { PrecisionRate, RooflineResponse } from '../../../api/schemas';
import { listAchievedRates } from '../tools/roofline-points';
import { getMaxStepMs, layoutStepColumns, makeStepLayers } from './step-chart';

describe('step chart', () => {
  describe('columns of the step chart', () => {
    it('show one step each if they fit', () => {
      const columns = layoutStepColumns(Float64Array.of(5, 9, 7), 120);
      expect(columns.map(({ step }) => step)).toEqual([0, 1, 2]);
      expect(columns.map(({ left }) => left)).toEqual([0, 40, 80]);
    });

    it('have a maximum width', () =>
      expect(layoutStepColumns(Float64Array.of(5, 9), 900).map(({ left }) => left)).toEqual([
        0, 90,
      ]));

    it('show the longest of several steps', () => {
      const total = new Float64Array(1000).fill(5);
      total[501] = 80;
      const columns = layoutStepColumns(total, 300);
      expect(columns).toHaveLength(100);
      expect(columns.map(({ step }) => step)).toContain(501);
    });
  });

  describe('the axis of the step chart', () => {
    it('ends at the longest step', () => expect(getMaxStepMs([Float64Array.of(4, 5, 6)])).toBe(6));

    it('cuts off outliers', () => {
      const total = new Float64Array(20).fill(10);
      total[0] = 900;
      expect(getMaxStepMs([total])).toBe(15);
    });
  });

  it('leaves out parts without time', () => {
    const part = (name: string, ...ms: number[]) => ({
      name,
      label: { code: '', text: name, args: {} },
      exclusive_ms: Float64Array.of(...ms),
      inclusive_ms: Float64Array.of(...ms),
    });
    const layers = makeStepLayers({
      names: ['1', '2'],
      start_ms: Float64Array.of(0, 5),
      total_ms: Float64Array.of(5, 5),
      parts: [part('input', 1, 0), part('output', 0, 0)],
      other_ms: Float64Array.of(0, 0),
      averaged: [0, 2],
    });
    expect(layers.map(({ name }) => name)).toEqual(['input']);
  });
});

describe('achieved rates', () => {
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
});
