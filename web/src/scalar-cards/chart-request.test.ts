import { expect, test } from 'vitest';

import type { ChartsView } from '../api/scalar-schemas';
import {
  needsOtherPoints,
  chartKey,
  createChartsRequest,
  overlap,
  pickBatch,
  type ChartSubscription,
  SubscriptionSet,
} from './chart-request';

const VIEW: ChartsView = {
  runs: null,
  x: 'step',
  smoothing: null,
  overwritten: false,
  baseline: null,
  groups: null,
  center: 'mean',
  band: 'std',
};
const want = (id: string, part: Partial<ChartSubscription> = {}): ChartSubscription => ({
  id,
  tags: [id],
  visibleRange: null,
  width: 340,
  ...part,
});

test('charts of one width are asked for together, each once', () => {
  const batch = pickBatch([want('a'), want('b', { width: 301 }), want('a')], 10);
  expect(batch.map(({ id }) => id)).toEqual(['a', 'b']);
});

test('a wider chart is asked for first and alone', () => {
  const batch = pickBatch([want('a'), want('b', { width: 1000 })], 10);
  expect(batch.map(({ id }) => id)).toEqual(['b']);
  expect(createChartsRequest(VIEW, batch).width).toBe(1000);
});

test('a request has no more charts than it may', () => {
  expect(pickBatch([want('a'), want('b'), want('c')], 2)).toHaveLength(2);
});

test('a part is asked for with a margin and as many columns for what is seen', () => {
  const query = createChartsRequest(VIEW, [want('a', { visibleRange: [100, 200], width: 400 })]);
  expect(query.width).toBe(600);
  expect(query.charts).toEqual([{ id: 'a\npart', tags: ['a'], start: 75, stop: 225 }]);
});

test('the answer for a part is kept beside that for the whole', () => {
  expect(chartKey(want('a'))).not.toBe(chartKey(want('a', { visibleRange: [0, 1] })));
});

test('only smoothing leaves an answer under way worth having', () => {
  const smoother = { ...VIEW, smoothing: { kind: 'ema', amount: 0.6 } } as const;
  expect(needsOtherPoints(VIEW, smoother)).toBe(false);
  expect(needsOtherPoints(VIEW, { ...VIEW, x: 'wall' })).toBe(true);
});

test('spans that touch overlap', () => {
  expect(overlap([0, 1], [1, 2])).toBe(true);
  expect(overlap([0, 1], [2, 3])).toBe(false);
});

test('what is wanted twice is wanted until both have let go', () => {
  const wants = new SubscriptionSet<string>();
  const [first, second] = [wants.add('a'), wants.add('a')];
  first();
  expect(wants.all).toEqual(['a']);
  second();
  expect(wants.all).toEqual([]);
});
