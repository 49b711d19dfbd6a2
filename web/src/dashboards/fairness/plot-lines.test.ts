import { expect, test } from 'vitest';

import { makeTestPlot } from './fairness-fixtures';
import { makePlotLines, makeSteps, mergeBins } from '../../charts/evaluation/plot-lines';

const style = { label: 'F', color: '#000' };
const names = { negative: 'F, negative', positive: 'F, positive' };

test('empty calibration buckets are left out', () => {
  const [line] = makePlotLines('calibration', makeTestPlot(), style, names);
  expect([[...(line?.x ?? [])], [...(line?.y ?? [])]]).toEqual([[0.3], [0.5]]);
});

test('distributions are shares of each label', () => {
  const plot = makeTestPlot({ negative: Float64Array.of(3, 1) });
  const lines = makePlotLines('distribution', plot, style, names);
  expect(lines.map(({ label }) => label)).toEqual(['F, negative', 'F, positive']);
  expect([...(lines[0]?.y ?? [])]).toEqual([0.75, 0.75, 0.25, 0.25]);
  expect([...makeSteps(Float64Array.of(0, 1), Float64Array.of(0)).y]).toEqual([0, 0]);
});

test('at most 20 bins are drawn, and none is lost', () => {
  const edges = Float64Array.from({ length: 51 }, (_, at) => at / 50);
  const [kept, weights] = mergeBins(edges, new Float64Array(50).fill(2));
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([18, 0, 1]);
  expect(weights.reduce((sum, one) => sum + one, 0)).toBe(100);
});
