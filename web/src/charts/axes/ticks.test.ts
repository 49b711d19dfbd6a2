import { expect, test } from 'vitest';

import type { NumberRange } from '../types';
import {
  formatDurationTick,
  listLocalMultiples,
  makeClockTicks,
  makeDurationTicks,
  makeTicks,
  niceRange,
  niceStep,
  type Tick,
} from './ticks';

function tickLabels(
  domain: NumberRange,
  count: number,
  kind: 'linear' | 'log' = 'linear',
): string[] {
  return makeTicks(kind, 'number', domain, count).map(({ label }) => label);
}

test.each([
  [10, 5, 2],
  [1, 5, 0.2],
  [0.6, 4, 0.2],
  [100, 10, 10],
  [7, 1, 5],
])('a span of %d in about %d parts has steps of %d', (span, count, step) => {
  expect(niceStep(span, count)).toBeCloseTo(step, 12);
});

test('labels of an axis have the same number of digits, except zero', () => {
  expect(tickLabels([0.4, 1], 6)).toEqual(['0.4', '0.5', '0.6', '0.7', '0.8', '0.9', '1.0']);
  expect(tickLabels([0, 2.5], 5)).toEqual(['0', '0.5', '1.0', '1.5', '2.0', '2.5']);
  expect(tickLabels([-0.1, 0.1], 4)).toEqual(['−0.10', '−0.05', '0', '0.05', '0.10']);
});

test('large numbers share a unit, small ones have an exponent', () => {
  expect(tickLabels([0, 10_000], 5)).toEqual(['0', '2k', '4k', '6k', '8k', '10k']);
  expect(tickLabels([0, 2e6], 4)).toEqual(['0', '0.5M', '1.0M', '1.5M', '2.0M']);
  expect(tickLabels([0, 4e-5], 4)).toEqual(['0', '1e-5', '2e-5', '3e-5', '4e-5']);
  expect(tickLabels([1e-4, 1.5e-4], 5)).toEqual([
    '1e-4',
    '1.1e-4',
    '1.2e-4',
    '1.3e-4',
    '1.4e-4',
    '1.5e-4',
  ]);
});

test('numbers above a trillion have an exponent', () => {
  expect(tickLabels([0, 4e18], 4)).toEqual(['0', '1e18', '2e18', '3e18', '4e18']);
  expect(tickLabels([1e12, 1e18], 3, 'log')).toEqual(['1T', '100T', '1e16', '1e18']);
});

test('step ticks are integers', () => {
  const steps = makeTicks('linear', 'step', [76, 78], 8).map(({ label }) => label);
  expect(steps).toEqual(['76', '77', '78']);
});

test('ticks have no floating-point noise', () => {
  const values = makeTicks('linear', 'number', [0, 1], 10).map(({ value }) => value);
  expect(values).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
});

test('ranges near the limits of doubles have few ticks', () => {
  expect(tickLabels([1, 1 + 1e-15], 5).length).toBeLessThan(20);
  expect(tickLabels([-1e308, 1e308], 5).length).toBeLessThan(20);
  expect(tickLabels([5e-324, 1e-323], 5).length).toBeLessThan(20);
});

test('a log axis has powers of ten, and more if they fit', () => {
  expect(tickLabels([1e-4, 1e-2], 2, 'log')).toEqual(['1e-4', '1e-3', '0.01']);
  expect(tickLabels([1e-4, 1e-2], 5, 'log')).toEqual(['1e-4', '3e-4', '1e-3', '3e-3', '0.01']);
  expect(tickLabels([1, 100], 6, 'log')).toEqual(['1', '2', '5', '10', '20', '50', '100']);
  expect(tickLabels([1, 1e6], 3, 'log')).toEqual(['1', '100', '10k', '1M']);
});

test('a log axis within a decade has linear ticks', () => {
  expect(tickLabels([2, 8], 3, 'log')).toEqual(['2', '4', '6', '8']);
});

test('the ends of a rounded range have ticks', () => {
  for (let high = 1.01; high < 99; high *= 1.013) {
    const [from, to] = niceRange([0.1, high], 4);
    const values = makeTicks('linear', 'number', [from, to], 4).map(({ value }) => value);
    expect(values[0]).toBe(from);
    expect(values.at(-1)).toBe(to);
  }
});

test('a range is rounded outwards', () => {
  expect(niceRange([0.03, 0.97], 5)).toEqual([0, 1]);
  expect(niceRange([-3.2, 7.1], 5)).toEqual([-4, 8]);
  expect(niceRange([0.2, 0.2], 5)).toEqual([0.2, 0.2]);
});

const labelsOf = (ticks: readonly Tick[]): string[] => ticks.map(({ label }) => label);

test.each([
  [0, '0'],
  [0.25, '250 ms'],
  [45, '45 s'],
  [90, '1 min 30 s'],
  [7200, '2 h'],
  [5400, '1 h 30 min'],
  [90_000, '1 d 1 h'],
  [-60, '−1 min'],
])('%d seconds read %s', (seconds, text) => {
  expect(formatDurationTick(seconds)).toBe(text);
});

test('duration ticks use clock units', () => {
  expect(labelsOf(makeDurationTicks([0, 3600], 4))).toEqual([
    '0',
    '15 min',
    '30 min',
    '45 min',
    '1 h',
  ]);
  expect(labelsOf(makeDurationTicks([0, 90], 3))).toEqual(['0', '30 s', '1 min', '1 min 30 s']);
  expect(labelsOf(makeDurationTicks([0, 2], 4))).toEqual(['0', '500 ms', '1 s', '1.5 s', '2 s']);
});

test('long durations are in days', () => {
  expect(labelsOf(makeDurationTicks([0, 40 * 86_400], 4))).toEqual(['0', '14 d', '28 d']);
});

test('clock ticks use local time, with the date at midnight', () => {
  const start = new Date(2026, 2, 11, 18, 0).getTime() / 1000;
  expect(labelsOf(makeClockTicks([start, start + 12 * 3600], 4))).toEqual([
    '18:00',
    '21:00',
    '12 Mar',
    '03:00',
    '06:00',
  ]);
});

test('short ranges show seconds', () => {
  const start = new Date(2026, 2, 11, 18, 0).getTime() / 1000;
  expect(labelsOf(makeClockTicks([start, start + 20], 4))).toEqual([
    '18:00:00',
    '18:00:05',
    '18:00:10',
    '18:00:15',
    '18:00:20',
  ]);
});

test('months and years', () => {
  const from = new Date(2025, 10, 20).getTime() / 1000;
  const to = new Date(2026, 4, 20).getTime() / 1000;
  expect(labelsOf(makeClockTicks([from, to], 6))).toEqual([
    'Dec',
    '2026',
    'Feb',
    'Mar',
    'Apr',
    'May',
  ]);
});

test('ticks stay at whole local hours when daylight saving time starts', () => {
  // UTC+1 until 01:00 UTC, then UTC+2.
  const change = 3600;
  const getOffset = (time: number): number => (time < change ? -3600 : -7200);
  const times = listLocalMultiples(6 * 3600, [-12 * 3600, 24 * 3600], getOffset);
  const hours = times.map((time) => (time - getOffset(time)) / 3600);
  expect(hours).toEqual([-6, 0, 6, 12, 18, 24]);
});
