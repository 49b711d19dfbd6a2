import { expect, test } from 'vitest';

import { axesCodec, sortCodec, filtersCodec, withAxisSetting } from './hparams-settings';

test('rules, orders and axes come back from an address as they were', () => {
  const rules = new Map([
    ['metric:|acc', { range: [0.9, 1] as const }],
    ['hparam:a,b', { values: ['x,y'], blank: true }],
  ]);
  expect(filtersCodec.parse(filtersCodec.format(rules))).toEqual(rules);
  const order = [
    { key: 'metric:|a,b', descending: true },
    { key: 'name', descending: false },
  ];
  expect(sortCodec.parse(sortCodec.format(order))).toEqual(order);
  const axes = withAxisSetting(new Map([['x', { flipped: true }]]), 'x', { scale: 'log' });
  expect(axesCodec.parse(axesCodec.format(axes))).toEqual(axes);
  expect(axes.get('x')).toEqual({ flipped: true, scale: 'log' });
});

test('a damaged address filters nothing', () => {
  for (const text of [
    '',
    '{',
    '[1]',
    '[["a",3]]',
    '[["a",{"range":[1]}]]',
    '[["a",{"values":[1]}]]',
  ])
    expect(filtersCodec.parse(text).size).toBe(0);
});
