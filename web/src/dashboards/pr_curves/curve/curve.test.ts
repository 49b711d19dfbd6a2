import { expect, test } from 'vitest';

import { drawLines, indexNear, nextThreshold, readAt, runOf, spotOf } from './curve';
import { sampleCurve } from './sample';

const curve = sampleCurve('a');

test('precision is drawn over recall, true over false positives', () => {
  const [pr] = drawLines([curve], 'PR');
  expect([[...(pr?.x ?? [])], [...(pr?.y ?? [])]]).toEqual([
    [1, 0.5, 0],
    [0.5, 1, NaN],
  ]);
  const [roc] = drawLines([curve], 'ROC');
  expect([[...(roc?.x ?? [])], [...(roc?.y ?? [])]]).toEqual([
    [1, 1, 0, 0, 0],
    [1, 1, 0.5, 0, 0],
  ]);
});

test('what has no columns, or no false positive rate, is not drawn', () => {
  const broken = sampleCurve('b', { columns: null });
  expect(drawLines([broken], 'PR')).toEqual([]);
  const { columns } = curve.row;
  if (!columns) throw new Error('no columns');
  const uncounted = sampleCurve('c', { columns: { ...columns, false_positive_rate: null } });
  expect(drawLines([uncounted], 'ROC')).toEqual([]);
});

test('a curve is read at its nearest threshold', () => {
  expect(readAt(curve, 0.4)).toMatchObject({ threshold: 0.5, truePositives: 1, precision: 1 });
  expect(readAt(sampleCurve('c', { counted: false }), 0.4)?.truePositives).toBeNaN();
  expect(readAt(sampleCurve('b', { columns: null }), 0.4)).toBeNull();
});

test('a threshold at which nothing is called positive is no place in the plane', () => {
  const reading = readAt(curve, 1);
  expect(reading && spotOf(reading, 'PR')).toBeNull();
  expect(reading && spotOf(reading, 'ROC')).toMatchObject({ x: 0, y: 0 });
});

test.each([
  [-1, 0],
  [0.24, 0],
  [0.26, 1],
  [0.9, 2],
  [7, 2],
])('nearest to %f is number %i', (value, index) => {
  expect(indexNear(Float64Array.of(0, 0.5, 1), value)).toBe(index);
});

test('thresholds are gone through one by one, over all curves', () => {
  const { columns } = curve.row;
  if (!columns) throw new Error('no columns');
  const threshold = Float64Array.of(0, 0.6, 1);
  const curves = [curve, sampleCurve('b', { columns: { ...columns, threshold } })];
  expect(nextThreshold(curves, 0.5, 1)).toBe(0.6);
  expect(nextThreshold(curves, 0.5, -1)).toBe(0);
  expect(nextThreshold(curves, 1, 1)).toBeNull();
});

test('the run is in the id of a line', () => {
  expect(runOf(curve.id)).toBe('a');
});
