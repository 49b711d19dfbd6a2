import { describe, expect, it } from 'vitest';

import { layoutStepColumns, getMaxStepMs, makeStepLayers } from './step-chart';

describe('columns of the step chart', () => {
  it('show one step each if they fit', () => {
    const columns = layoutStepColumns(Float64Array.of(5, 9, 7), 120);
    expect(columns.map(({ step }) => step)).toEqual([0, 1, 2]);
    expect(columns.map(({ left }) => left)).toEqual([0, 40, 80]);
  });

  it('have a maximum width', () =>
    expect(layoutStepColumns(Float64Array.of(5, 9), 900).map(({ left }) => left)).toEqual([0, 90]));

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
