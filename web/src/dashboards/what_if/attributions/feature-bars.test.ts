import { expect, test } from 'vitest';

import { makeFeatureBars } from './feature-bars';

const STEEP = {
  model: 'steep',
  color: 'red',
  values: [
    { feature: 'age', value: 0.1 },
    { feature: 'sex', value: -0.4 },
  ],
};
const FLAT = {
  model: 'flat',
  color: 'blue',
  values: [
    { feature: 'job', value: 3 },
    { feature: 'age', value: 2 },
  ],
};

test('the largest contribution comes first', () => {
  expect(makeFeatureBars([STEEP]).map(({ label }) => label)).toEqual(['sex', 'age']);
  const bars = makeFeatureBars([STEEP], ({ value }) => value);
  expect(bars.map(({ label }) => label)).toEqual(['age', 'sex']);
});

test('the bars of all models are beside each other', () => {
  const bars = makeFeatureBars([STEEP, FLAT]);
  expect(bars.map(({ label, value, color }) => [label, value, color])).toEqual([
    ['sex · steep', -0.4, 'red'],
    ['age · steep', 0.1, 'red'],
    ['age · flat', 2, 'blue'],
    ['job · flat', 3, 'blue'],
  ]);
  expect(makeFeatureBars([{ ...STEEP, values: [] }, FLAT])).toHaveLength(2);
});
