import { describe, expect, it } from 'vitest';

import {
  formatThresholds,
  getCaptureLabel,
  getFindingSpan,
  getSpanAroundEvent,
  makeCaptureOptions,
  makeRequestPath,
  setThreshold,
} from './captures';
import type { CaptureRow } from './schemas';

const REQUEST = {
  capture: 'a b',
  host: '',
  marker: '',
  rules: 'ours',
  thresholds: '',
  mark: null,
} as const;

it('asks for a capture by one name as long as all is as usual', () =>
  expect(makeRequestPath('overview', REQUEST)).toBe('overview?capture=a+b'));

it('says what is not as usual, in one order', () =>
  expect(makeRequestPath('compare', { ...REQUEST, rules: 'xprof', mark: 7 }, { before: 'c' })).toBe(
    'compare?capture=a+b&rules=xprof&mark=7&before=c',
  ));

const THRESHOLDS = [
  { name: 'input', title: '', percent: 5, usual: 5 },
  { name: 'kernel launch', title: '', percent: 30, usual: 15 },
];

it('says only what is not as usual', () => {
  expect(formatThresholds(THRESHOLDS)).toBe('kernel launch:30');
  expect(formatThresholds(THRESHOLDS.slice(0, 1))).toBe('');
});

it('changes one and keeps the others', () => {
  expect(setThreshold(THRESHOLDS, 'input', 12.5)).toBe('input:12.5,kernel launch:30');
  expect(setThreshold(THRESHOLDS, 'kernel launch', null)).toBe('');
});

it('keeps to what is a part of a whole', () => {
  expect(setThreshold(THRESHOLDS, 'input', 400)).toBe('input:100,kernel launch:30');
  expect(setThreshold(THRESHOLDS, 'input', -1)).toBe('input:0,kernel launch:30');
});

describe('windows of the trace', () => {
  it('are in microseconds', () =>
    expect(getFindingSpan({ start_ps: 2e9, end_ps: 5e9 })).toEqual([2000, 5000]));

  it('are not there where nothing is seen in them', () =>
    expect(getFindingSpan({ start_ps: 0, end_ps: 0 })).toBeNull());

  it('show an event among what is around it', () => {
    const row = { event: 1, name: 'a', track: 'main', start_ps: 10e6, duration_ps: 3e6 };
    expect(getSpanAroundEvent(row)).toEqual([4, 19]);
  });

  it('do not begin before the trace does', () => {
    const row = { event: 1, name: 'a', track: 'main', start_ps: 1e6, duration_ps: 3e6 };
    expect(getSpanAroundEvent(row)[0]).toBe(0);
  });
});

const makeCapture = (id: string, run: string, step: number | null): CaptureRow => ({
  id,
  run,
  session: id,
  title: `title of ${id}`,
  kind: 'xplane',
  wall_s: 0,
  step,
  bytes: 10,
  mark: 1,
  hosts: [],
});

const same = (run: string): string => run;

describe('the name of a capture', () => {
  it('is that of its run where there is no other', () =>
    expect(
      getCaptureLabel(makeCapture('a', 'conv', 20), [makeCapture('a', 'conv', 20)], same),
    ).toBe('conv'));

  it('tells the step where there are several', () => {
    const rows = [makeCapture('a', 'conv', 20), makeCapture('b', 'conv', 40)];
    expect(rows.map((each) => getCaptureLabel(each, rows, same))).toEqual([
      'conv · step 20',
      'conv · step 40',
    ]);
  });

  it('tells the title where steps do not tell them apart', () => {
    const rows = [
      makeCapture('a', 'conv', null),
      makeCapture('b', 'conv', 40),
      makeCapture('c', 'conv', 40),
    ];
    expect(rows.map((each) => getCaptureLabel(each, rows, same))).toEqual([
      'conv · title of a',
      'conv · title of b',
      'conv · title of c',
    ]);
  });

  it('is a dot for the log directory itself', () =>
    expect(getCaptureLabel(makeCapture('a', '', null), [], same)).toBe('.'));
});

it('offers captures by their runs', () => {
  const rows = [makeCapture('a', 'one', 1), makeCapture('b', 'two', 1), makeCapture('c', 'one', 2)];
  const groups = makeCaptureOptions(rows, rows[1], same);
  expect(groups.map(({ title, options }) => [title, options.map(({ key }) => key)])).toEqual([
    ['one', ['a', 'c']],
    ['two', ['b']],
  ]);
  expect(groups.flatMap(({ options }) => options).find(({ selected }) => selected)?.key).toBe('b');
});
