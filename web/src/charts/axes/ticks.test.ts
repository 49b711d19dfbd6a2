import { expect, test } from 'vitest';

import type { NumberRange } from '../types';
import {
  formatDurationTick,
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

test('numbers of one axis have the same digits, and zero has none', () => {
  expect(tickLabels([0.4, 1], 6)).toEqual(['0.4', '0.5', '0.6', '0.7', '0.8', '0.9', '1.0']);
  expect(tickLabels([0, 2.5], 5)).toEqual(['0', '0.5', '1.0', '1.5', '2.0', '2.5']);
  expect(tickLabels([-0.1, 0.1], 4)).toEqual(['−0.10', '−0.05', '0', '0.05', '0.10']);
});

test('large numbers are in one unit, small ones have an exponent', () => {
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

test('beyond a trillion numbers have an exponent', () => {
  expect(tickLabels([0, 4e18], 4)).toEqual(['0', '1e18', '2e18', '3e18', '4e18']);
  expect(tickLabels([1e12, 1e18], 3, 'log')).toEqual(['1T', '100T', '1e16', '1e18']);
});

test('between steps there is nothing', () => {
  const steps = makeTicks('linear', 'step', [76, 78], 8).map(({ label }) => label);
  expect(steps).toEqual(['76', '77', '78']);
});

test('ticks carry no dust of binary fractions', () => {
  const values = makeTicks('linear', 'number', [0, 1], 10).map(({ value }) => value);
  expect(values).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
});

test('close to the limits of numbers there are still few ticks', () => {
  expect(tickLabels([1, 1 + 1e-15], 5).length).toBeLessThan(20);
  expect(tickLabels([-1e308, 1e308], 5).length).toBeLessThan(20);
  expect(tickLabels([5e-324, 1e-323], 5).length).toBeLessThan(20);
});

test('a log axis has powers of ten, and more where there is room', () => {
  expect(tickLabels([1e-4, 1e-2], 2, 'log')).toEqual(['1e-4', '1e-3', '0.01']);
  expect(tickLabels([1e-4, 1e-2], 5, 'log')).toEqual(['1e-4', '3e-4', '1e-3', '3e-3', '0.01']);
  expect(tickLabels([1, 100], 6, 'log')).toEqual(['1', '2', '5', '10', '20', '50', '100']);
  expect(tickLabels([1, 1e6], 3, 'log')).toEqual(['1', '100', '10k', '1M']);
});

test('a log axis within one decade has plain numbers', () => {
  expect(tickLabels([2, 8], 3, 'log')).toEqual(['2', '4', '6', '8']);
});

test('the ends of a widened span have ticks', () => {
  for (let high = 1.01; high < 99; high *= 1.013) {
    const [from, to] = niceRange([0.1, high], 4);
    const values = makeTicks('linear', 'number', [from, to], 4).map(({ value }) => value);
    expect(values[0]).toBe(from);
    expect(values.at(-1)).toBe(to);
  }
});

test('a span is widened to round numbers around it', () => {
  expect(niceRange([0.03, 0.97], 5)).toEqual([0, 1]);
  expect(niceRange([-3.2, 7.1], 5)).toEqual([-4, 8]);
  expect(niceRange([0.2, 0.2], 5)).toEqual([0.2, 0.2]);
});

const labelsOf = (ticks: readonly Tick[]): string[] => ticks.map(({ label }) => label);

test.each([
  [0, '0'],
  [0.25, '250ms'],
  [45, '45s'],
  [90, '1m 30s'],
  [7200, '2h'],
  [5400, '1h 30m'],
  [90_000, '1d 1h'],
  [-60, '−1m'],
])('%d seconds read %s', (seconds, text) => {
  expect(formatDurationTick(seconds)).toBe(text);
});

test('durations have steps that clocks have', () => {
  expect(labelsOf(makeDurationTicks([0, 3600], 4))).toEqual(['0', '15m', '30m', '45m', '1h']);
  expect(labelsOf(makeDurationTicks([0, 90], 3))).toEqual(['0', '30s', '1m', '1m 30s']);
  expect(labelsOf(makeDurationTicks([0, 2], 4))).toEqual(['0', '500ms', '1s', '1.5s', '2s']);
});

test('a long time is told in days', () => {
  expect(labelsOf(makeDurationTicks([0, 40 * 86_400], 4))).toEqual(['0', '14d', '28d']);
});

test('clock times are those of this place, with the day at midnight', () => {
  const start = new Date(2026, 2, 11, 18, 0).getTime() / 1000;
  expect(labelsOf(makeClockTicks([start, start + 12 * 3600], 4))).toEqual([
    '18:00',
    '21:00',
    '12 Mar',
    '03:00',
    '06:00',
  ]);
});

test('seconds are told when minutes are not enough', () => {
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
