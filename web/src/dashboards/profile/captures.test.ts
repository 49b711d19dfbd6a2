import { describe, expect, it } from 'vitest';

import {
  formatThresholds,
  getCaptureLabel,
  getFindingSpan,
  getSpanAroundEvent,
  makeCaptureOptions,
  makeCaptureRequest,
  setThreshold,
} from './captures';
import type { CaptureRow } from '../../api/schemas';

it('leaves default values out of requests', () => {
  const defaults = { host: '', marker: '', rules: 'ours', thresholds: '', version: null } as const;
  expect(makeCaptureRequest({ capture: 'a', ...defaults })).toEqual({ capture: 'a' });
  expect(makeCaptureRequest({ capture: '', ...defaults, rules: 'xprof', version: 7 })).toEqual({
    capture: '',
    rules: 'xprof',
    version: 7,
  });
});

const title = { code: '', text: '', args: {} };
const THRESHOLDS = [
  { name: 'input', title, percent: 5, default: 5 },
  { name: 'kernel launch', title, percent: 30, default: 15 },
];

it('formats the thresholds that are not the defaults', () => {
  expect(formatThresholds(THRESHOLDS)).toBe('kernel launch:30');
  expect(formatThresholds(THRESHOLDS.slice(0, 1))).toBe('');
});

it('changes one threshold', () => {
  expect(setThreshold(THRESHOLDS, 'input', 12.5)).toBe('input:12.5,kernel launch:30');
  expect(setThreshold(THRESHOLDS, 'kernel launch', null)).toBe('');
});

it('limits thresholds to 0 to 100 percent', () => {
  expect(setThreshold(THRESHOLDS, 'input', 400)).toBe('input:100,kernel launch:30');
  expect(setThreshold(THRESHOLDS, 'input', -1)).toBe('input:0,kernel launch:30');
});

describe('spans of findings', () => {
  it('are in microseconds', () =>
    expect(getFindingSpan({ start_ps: 2e9, end_ps: 5e9 })).toEqual([2000, 5000]));

  it('are null without events', () =>
    expect(getFindingSpan({ start_ps: 0, end_ps: 0 })).toBeNull());

  it('contain an event with a margin', () => {
    expect(getSpanAroundEvent({ start_ps: 10e6, duration_ps: 3e6 })).toEqual([4, 19]);
  });

  it('do not start before the trace', () => {
    expect(getSpanAroundEvent({ start_ps: 1e6, duration_ps: 3e6 })[0]).toBe(0);
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
  version: 1,
  hosts: [],
});

const getRunLabel = (run: string): string => run;

describe('the label of a capture', () => {
  it('is the run if it has one capture', () =>
    expect(
      getCaptureLabel(makeCapture('a', 'conv', 20), [makeCapture('a', 'conv', 20)], getRunLabel),
    ).toBe('conv'));

  it('has the step if the run has several captures', () => {
    const rows = [makeCapture('a', 'conv', 20), makeCapture('b', 'conv', 40)];
    expect(rows.map((each) => getCaptureLabel(each, rows, getRunLabel))).toEqual([
      'conv · step 20',
      'conv · step 40',
    ]);
  });

  it('has the title if steps are not unique', () => {
    const rows = [
      makeCapture('a', 'conv', null),
      makeCapture('b', 'conv', 40),
      makeCapture('c', 'conv', 40),
    ];
    expect(rows.map((each) => getCaptureLabel(each, rows, getRunLabel))).toEqual([
      'conv · title of a',
      'conv · title of b',
      'conv · title of c',
    ]);
  });

  it('is a dot for the log directory itself', () =>
    expect(getCaptureLabel(makeCapture('a', '.', null), [], getRunLabel)).toBe('.'));

  it('is the file of an uploaded capture', () =>
    expect(getCaptureLabel(makeCapture('mine', '', null), [], getRunLabel)).toBe('mine'));
});

it('groups capture options by run', () => {
  const rows = [makeCapture('a', 'one', 1), makeCapture('b', 'two', 1), makeCapture('c', 'one', 2)];
  const groups = makeCaptureOptions(rows, rows[1], getRunLabel);
  expect(groups.map(({ title, options }) => [title, options.map(({ key }) => key)])).toEqual([
    ['one', ['a', 'c']],
    ['two', ['b']],
  ]);
  expect(groups.flatMap(({ options }) => options).find(({ selected }) => selected)?.key).toBe('b');
});
