import { expect, test } from 'vitest';

import type { ExportContents } from '../../api/static/static-transport';
import { makeColumn, makeTestDifferences, makeTestPlot, makeTestResult } from './fairness-fixtures';
import { fairnessHandlers } from './static-fairness';

const columns = [makeColumn('auc')];
const first = makeTestResult({ Overall: [0.5], F: [0.25] }, columns);
const second = makeTestResult({ F: [0.75] }, columns, { id: 'b' });
const row = { run: 'r', tag: 't', wall_time: 0, kind: 'logged', version: '' };

function makeContents(): ExportContents {
  const stored: Record<string, unknown> = {
    'result?id=a': first,
    'result?id=b': second,
    'difference?id=a': {
      ...makeTestDifferences(first, 0),
      p_value: Float64Array.of(NaN, 0.01),
      lower: Float64Array.of(0, -0.3),
    },
    'plots?id=a': { plots: [makeTestPlot({ slice: 1 })], confusion: [], missing: [], exact: true },
    evaluations: {
      cursor: '',
      evaluations: [
        { ...row, id: 'a', step: 1 },
        { ...row, id: 'b', step: 2 },
      ],
    },
  };
  const strip = (path: string): string => path.replace('api/v1/fairness/', '');
  const contents = {
    head: { responses: {} },
    has: (path: string) => strip(path) in stored,
    read: (path: string) => Promise.resolve(stored[strip(path)]),
  };
  return contents as unknown as ExportContents;
}

test('differences are exported or computed, with intervals', async () => {
  const handle = fairnessHandlers['POST fairness/difference'];
  const exported = await handle?.({ id: 'a', baseline: 'Overall' }, makeContents());
  expect(exported?.gaps).toEqual([{ slice: 1, column: 0, difference: -0.25, significant: true }]);
  expect(exported?.lower[1]).toBe(-0.3);
  const other = await handle?.({ id: 'a', baseline: 'F' }, makeContents());
  expect([...(other?.difference ?? [])]).toEqual([0.25, 0]);
  expect(other?.lower[0]).toBeCloseTo(0.25 - Math.hypot(0.1, 0.1));
  expect(other?.comparisons).toBe(1);
  const compared = await handle?.({ id: 'a', other: 'b' }, makeContents());
  expect([...(compared?.difference ?? [])]).toEqual([NaN, -0.5]);
  expect(compared?.upper[1]).toBeCloseTo(-0.5 + Math.hypot(0.1, 0.1));
});

test('plots of slices that were not exported are missing', async () => {
  const handle = fairnessHandlers['POST fairness/plots'];
  const response = await handle?.({ id: 'a', slices: [0, 1] }, makeContents());
  expect([response?.plots.length, response?.missing]).toEqual([1, [0]]);
  const none = await handle?.({ id: 'b', slices: [0] }, makeContents());
  expect(none?.missing).toEqual([0]);
});

test('the history is read from all results', async () => {
  const request = { run: 'r', tag: 't', metric: 'auc', slices: ['F', 'Overall'] };
  const history = await fairnessHandlers['POST fairness/history']?.(request, makeContents());
  expect([...(history?.steps ?? [])]).toEqual([1, 2]);
  expect(history?.series.map(({ value }) => [...value])).toEqual([
    [0.25, 0.75],
    [0.5, NaN],
  ]);
});
