import { describe, expect, it } from 'vitest';

import { layoutDonut } from './donut-layout';

const slice = (name: string, value: number) => ({ name, value });

describe('a ring', () => {
  it('begins with the largest part', () => {
    const { slices, total } = layoutDonut([slice('a', 1), slice('b', 3)]);
    expect(slices.map(({ name, share }) => [name, share])).toEqual([
      ['b', 0.75],
      ['a', 0.25],
    ]);
    expect(total).toBe(4);
  });

  it('puts what is too small together', () => {
    const many = Array.from({ length: 20 }, (_, at) => slice(`op ${at}`, 20 - at));
    const { slices } = layoutDonut(many);
    expect(slices).toHaveLength(8);
    expect(slices.at(-1)).toMatchObject({ name: 'the rest', value: 91, isOther: true });
    expect(slices.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  });

  it('of one part is whole', () => {
    const [only] = layoutDonut([slice('a', 2)]).slices;
    expect(only?.path).toMatch(/^M0.000 -48.000A48 48 0 1 1 /);
    expect(only?.path).not.toContain('NaN');
  });

  it('of nothing is empty', () => {
    expect(layoutDonut([slice('a', 0)])).toEqual({ slices: [], total: 0 });
  });
});
