import { expect, test } from 'vitest';

import { withCard } from '../../wall/by-card';
import { forms, limits, xAxis, zooms } from './codecs';

test('an axis that is not known becomes steps', () => {
  expect(xAxis.parse('wall')).toBe('wall');
  expect(xAxis.parse('metric:epoch')).toBe('metric:epoch');
  expect(xAxis.parse('moon')).toBe('step');
});

test('limits are written flat and read back', () => {
  const ends = {
    x: { low: 0, high: 100 },
    y: { low: null, high: 2.5 },
    y2: { low: null, high: null },
  };
  const map = withCard(new Map(), 'train/loss', ends);
  expect(limits.format(map)).toBe('train/loss,0,100,,2.5,,');
  expect(limits.parse('train/loss,0,100,,2.5,,')).toEqual(map);
});

test('damaged text is left out', () => {
  expect(zooms.parse('a,1,2,3,4,,,b,1,2,x,4,,,c,1')).toEqual(
    new Map([['a', { x: [1, 2], y: [3, 4] }]]),
  );
  expect(forms.parse('a,table,b,poem,c,bars')).toEqual(
    new Map([
      ['a', 'table'],
      ['c', 'bars'],
    ]),
  );
});
