import { expect, test } from 'vitest';

import { sortOrdersCodec } from '../../components/data-table';
import { axesCodec, filtersCodec, withAxisSetting } from './hparams-settings';

test('filters, sort keys and axes survive a round trip through the URL', () => {
  const filters = new Map([
    ['metric:|acc', { range: [0.9, 1] as const }],
    ['hparam:a,b', { values: ['x,y'], blank: true }],
  ]);
  expect(filtersCodec.parse(filtersCodec.format(filters))).toEqual(filters);
  const order = [
    { key: 'metric:|a,b', descending: true },
    { key: 'name', descending: false },
  ];
  expect(sortOrdersCodec.parse(sortOrdersCodec.format(order))).toEqual(order);
  const axes = withAxisSetting(new Map([['x', { flipped: true }]]), 'x', { scale: 'log' });
  expect(axesCodec.parse(axesCodec.format(axes))).toEqual(axes);
  expect(axes.get('x')).toEqual({ flipped: true, scale: 'log' });
});

test('an invalid URL parameter means no filters', () => {
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
