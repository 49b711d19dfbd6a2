import { expect, test } from 'vitest';

import { findNearest } from './nearest';
import { sampleCurve } from './sample';

const WHOLE = { x: [0, 1], y: [0, 1] } as const;

test('the threshold of the nearest point is found, and whose it is', () => {
  const curves = [sampleCurve('a')];
  expect(findNearest(curves, 'PR', { x: 0.9, y: 0.4 }, WHOLE)).toEqual({
    id: 'a\npr/cat',
    threshold: 0,
  });
  expect(findNearest(curves, 'PR', { x: 0.1, y: 0.9 }, WHOLE)?.threshold).toBe(0.5);
  expect(findNearest(curves, 'ROC', { x: 0.1, y: 0.1 }, WHOLE)?.threshold).toBe(1);
});

test('nearness is what the eye sees', () => {
  const flat = { x: [0, 1], y: [0, 100] } as const;
  const place = { x: 0.8, y: 1 };
  expect(findNearest([sampleCurve('a')], 'PR', place, WHOLE)?.threshold).toBe(0.5);
  expect(findNearest([sampleCurve('a')], 'PR', place, flat)?.threshold).toBe(0);
});

test('without curves there is nothing to find', () => {
  expect(findNearest([], 'PR', { x: 0, y: 0 }, WHOLE)).toBeNull();
});
