import { expect, test } from 'vitest';

import {
  findNearestThreshold,
  findNextThreshold,
  formatReading,
  getNearestIndex,
  getReadingColumns,
  getSeriesRun,
  limitReadings,
  makeCurveLines,
  makeGuides,
  makeMarker,
  readCurveAt,
} from './pr-curve';
import { makeTestCurve } from './pr-curve-fixtures';
import type { MeasuresRow } from '../../api/schemas';

const curve = makeTestCurve('a');

test('precision is drawn over recall, true over false positives', () => {
  const [pr] = makeCurveLines([curve], 'PR');
  expect([[...(pr?.x ?? [])], [...(pr?.y ?? [])]]).toEqual([
    [1, 0.5, 0],
    [0.5, 1, NaN],
  ]);
  const [roc] = makeCurveLines([curve], 'ROC');
  expect([[...(roc?.x ?? [])], [...(roc?.y ?? [])]]).toEqual([
    [1, 1, 0, 0, 0],
    [1, 1, 0.5, 0, 0],
  ]);
});

test('what has no columns, or no false positive rate, is not drawn', () => {
  const broken = makeTestCurve('b', { columns: null });
  expect(makeCurveLines([broken], 'PR')).toEqual([]);
  const { columns } = curve.row;
  if (!columns) throw new Error('no columns');
  const uncounted = makeTestCurve('c', { columns: { ...columns, false_positive_rate: null } });
  expect(makeCurveLines([uncounted], 'ROC')).toEqual([]);
});

test('a curve is read at its nearest threshold', () => {
  expect(readCurveAt(curve, 0.4)).toMatchObject({ threshold: 0.5, truePositives: 1, precision: 1 });
  expect(readCurveAt(makeTestCurve('c', { counted: false }), 0.4)?.truePositives).toBeNaN();
  expect(readCurveAt(makeTestCurve('b', { columns: null }), 0.4)).toBeNull();
});

test('a threshold at which nothing is called positive is no place in the plane', () => {
  const reading = readCurveAt(curve, 1);
  expect(reading && makeMarker(reading, 'PR')).toBeNull();
  expect(reading && makeMarker(reading, 'ROC')).toMatchObject({ x: 0, y: 0 });
});

test.each([
  [-1, 0],
  [0.24, 0],
  [0.26, 1],
  [0.9, 2],
  [7, 2],
])('nearest to %f is number %i', (value, index) => {
  expect(getNearestIndex(Float64Array.of(0, 0.5, 1), value)).toBe(index);
});

test('thresholds are gone through one by one, over all curves', () => {
  const { columns } = curve.row;
  if (!columns) throw new Error('no columns');
  const threshold = Float64Array.of(0, 0.6, 1);
  const curves = [curve, makeTestCurve('b', { columns: { ...columns, threshold } })];
  expect(findNextThreshold(curves, 0.5, 1)).toBe(0.6);
  expect(findNextThreshold(curves, 0.5, -1)).toBe(0);
  expect(findNextThreshold(curves, 1, 1)).toBeNull();
});

test('the run is in the id of a line', () => {
  expect(getSeriesRun(curve.id)).toBe('a');
});

const WHOLE = { x: [0, 1], y: [0, 1] } as const;

test('the threshold of the nearest point is found, and whose it is', () => {
  const curves = [makeTestCurve('a')];
  expect(findNearestThreshold(curves, 'PR', { x: 0.9, y: 0.4 }, WHOLE)).toEqual({
    id: 'a\npr/cat',
    threshold: 0,
  });
  expect(findNearestThreshold(curves, 'PR', { x: 0.1, y: 0.9 }, WHOLE)?.threshold).toBe(0.5);
  expect(findNearestThreshold(curves, 'ROC', { x: 0.1, y: 0.1 }, WHOLE)?.threshold).toBe(1);
});

test('nearness is what the eye sees', () => {
  const flat = { x: [0, 1], y: [0, 100] } as const;
  const place = { x: 0.8, y: 1 };
  expect(findNearestThreshold([makeTestCurve('a')], 'PR', place, WHOLE)?.threshold).toBe(0.5);
  expect(findNearestThreshold([makeTestCurve('a')], 'PR', place, flat)?.threshold).toBe(0);
});

test('without curves there is nothing to find', () => {
  expect(findNearestThreshold([], 'PR', { x: 0, y: 0 }, WHOLE)).toBeNull();
});

function withPrevalence(run: string, prevalence: number | null) {
  const { measures } = makeTestCurve(run).row;
  return makeTestCurve(run, { measures: { ...(measures as MeasuresRow), prevalence } });
}

test('every point of a level has its F1', () => {
  const levels = makeGuides([], 'PR', true);
  expect(levels.map(({ label }) => label)).toEqual(['F1 0.2', 'F1 0.4', 'F1 0.6', 'F1 0.8']);
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
  const words = (...curves: Parameters<typeof makeGuides>[0]) =>
    makeGuides(curves, 'PR', false).map(({ label }) => label);
  expect(words(withPrevalence('a', 0.5), withPrevalence('b', 0.501))).toEqual(['chance']);
  expect(words(withPrevalence('a', 0.5), withPrevalence('b', 0.3))).toEqual([]);
  expect(words(withPrevalence('a', null))).toEqual([]);
  expect(makeGuides([], 'ROC', true).map(({ label }) => label)).toEqual(['chance']);
});

const readings = ['a', 'b', 'c'].flatMap((run) => readCurveAt(makeTestCurve(run), 0.5) ?? []);

test('where all fit they keep their order', () => {
  expect(limitReadings(readings, 'c\npr/cat', 3)).toEqual({ rows: readings, more: 0 });
});

test('where they do not, the nearest is always told', () => {
  const { rows, more } = limitReadings(readings, 'c\npr/cat', 2);
  expect(rows.map(({ label }) => label)).toEqual(['c', 'a']);
  expect(more).toBe(1);
});

test('what is not defined is a dash', () => {
  const [last] = ['a'].flatMap((run) => readCurveAt(makeTestCurve(run), 1) ?? []);
  if (!last) throw new Error('no reading');
  expect(formatReading(last, getReadingColumns('PR'))).toEqual(['–', '0', '0', '0', '0', '2', '2']);
  expect(formatReading(last, getReadingColumns('ROC'))).toEqual([
    '0',
    '0',
    '0',
    '0',
    '0',
    '2',
    '2',
  ]);
});
