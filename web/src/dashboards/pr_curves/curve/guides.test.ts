import { expect, test } from 'vitest';

import type { Measures } from '../../../api/pr-curves';
import { guidesOf } from './guides';
import { sampleCurve } from './sample';

function withPrevalence(run: string, prevalence: number | null) {
  const { measures } = sampleCurve(run).row;
  return sampleCurve(run, { measures: { ...(measures as Measures), prevalence } });
}

test('every point of a level has its F1', () => {
  const levels = guidesOf([], 'PR', true);
  expect(levels.map(({ text }) => text)).toEqual(['F1 0.2', 'F1 0.4', 'F1 0.6', 'F1 0.8']);
  for (const [at, { x, y }] of levels.entries()) {
    x.forEach((recall, point) => {
      const precision = y[point] ?? NaN;
      expect((2 * precision * recall) / (precision + recall)).toBeCloseTo(0.2 * (at + 1), 9);
    });
    expect([Math.max(...x), Math.max(...y)].map((end) => end.toFixed(9))).toEqual([
      '1.000000000',
      '1.000000000',
    ]);
  }
});

test('chance is the part of positives where all curves share it', () => {
  const words = (...curves: Parameters<typeof guidesOf>[0]) =>
    guidesOf(curves, 'PR', false).map(({ text }) => text);
  expect(words(withPrevalence('a', 0.5), withPrevalence('b', 0.501))).toEqual(['chance']);
  expect(words(withPrevalence('a', 0.5), withPrevalence('b', 0.3))).toEqual([]);
  expect(words(withPrevalence('a', null))).toEqual([]);
  expect(guidesOf([], 'ROC', true).map(({ text }) => text)).toEqual(['chance']);
});
