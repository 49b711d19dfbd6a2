import { expect, test } from 'vitest';

import { withCardValue } from '../cards/grid-settings';
import {
  axisRangesCodec,
  displaysCodec,
  type LineMode,
  setLineMode,
  xAxisCodec,
  zoomsCodec,
} from './scalar-settings';

test('an unknown axis falls back to steps', () => {
  expect(xAxisCodec.parse('wall')).toBe('wall');
  expect(xAxisCodec.parse('metric:epoch')).toBe('metric:epoch');
  expect(xAxisCodec.parse('unknown')).toBe('step');
});

test('axis ranges are encoded as a flat list', () => {
  const ends = {
    x: { low: 0, high: 100 },
    y: { low: null, high: 2.5 },
    y2: { low: null, high: null },
  };
  const map = withCardValue(new Map(), 'train/loss', ends);
  expect(axisRangesCodec.format(map)).toBe('train/loss,0,100,,2.5,,');
  expect(axisRangesCodec.parse('train/loss,0,100,,2.5,,')).toEqual(map);
});

test('invalid values are skipped', () => {
  expect(zoomsCodec.parse('a,1,2,3,4,,,b,1,2,x,4,,,c,1')).toEqual(
    new Map([['a', { x: [1, 2], y: [3, 4] }]]),
  );
  expect(displaysCodec.parse('a,table,b,list,c,bars')).toEqual(
    new Map([
      ['a', 'table'],
      ['c', 'bars'],
    ]),
  );
});

function chooseBaseline(names: string[], charts: string[][], baseline: string | null = null) {
  let chosen = baseline;
  const mode = { value: 'lines' as LineMode, set: () => undefined };
  const visible = names.map((name) => ({ name, label: name, color: '', dash: [], group: null }));
  const runs = { visible, baseline, setBaseline: (name: string | null) => void (chosen = name) };
  const inCharts = charts.map((runs) => new Set(runs));
  setLineMode('baseline', { mode }, runs, inCharts);
  return chosen;
}

test('the first baseline is a run of the charts', () => {
  expect(chooseBaseline(['a/profile', 'a/train', 'b'], [['a/train', 'b'], ['b']])).toBe('b');
  expect(chooseBaseline(['a', 'b'], [['a', 'b']])).toBe('a');
  expect(chooseBaseline(['a', 'b'], [])).toBe('a');
  // Tags that no other run has compare nothing.
  expect(chooseBaseline(['a', 'b', 'c', 'd'], [['a'], ['a'], ['b', 'c', 'd']])).toBe('b');
  expect(chooseBaseline(['a', 'b'], [['b']], 'a')).toBe('a');
});
