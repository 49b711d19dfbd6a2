import { describe, expect, it, test } from 'vitest';

import {
  formatAgo,
  formatBytes,
  formatTimeOrDate,
  formatCount,
  formatDb,
  formatDuration,
  formatHz,
  formatMs,
  formatPlaybackTime,
  formatProgress,
  formatAgoOrDate,
  formatStep,
  formatUs,
  formatValue,
} from './format';

test.each([
  [0, '0'],
  [0.914159, '0.9142'],
  [-0.5, '−0.5'],
  [0.0001234, '0.0001234'],
  [0.00001234, '1.234e-5'],
  [1e-5, '1e-5'],
  [12.34567, '12.35'],
  [12345, '12,345'],
  [12345.678, '12345.7'],
  [2_500_000, '2.5e+6'],
  [NaN, 'NaN'],
  [Infinity, '∞'],
  [-Infinity, '−∞'],
])('the value %d reads %s', (value, text) => {
  expect(formatValue(value)).toBe(text);
});

test('values can be shown with fewer digits', () => {
  expect(formatValue(0.0005838, 3)).toBe('5.84e-4');
  expect(formatValue(0.12345, 3)).toBe('0.123');
});

test.each([
  [0, '0'],
  [9_999, '9,999'],
  [12_345, '12.3k'],
  [999_960, '1M'],
  [1_234_567, '1.2M'],
  [40_000_000, '40M'],
])('the count %d reads %s', (count, text) => {
  expect(formatCount(count)).toBe(text);
});

test('steps are shown in full up to seven digits', () => {
  expect(formatStep(1_234_567)).toBe('1,234,567');
  expect(formatStep(12_345_678)).toBe('12.3M');
  expect(formatStep(-1)).toBe('−1');
});

test('sizes', () => {
  expect(formatBytes(0)).toBe('0 B');
  expect(formatBytes(18_204)).toBe('18.2 kB');
  expect(formatBytes(1.24e9)).toBe('1.2 GB');
  expect(formatBytes(-18_204)).toBe('−18.2 kB');
  expect(formatProgress(1.24e9, 1.91e9)).toBe('1.2 of 1.9 GB');
  expect(formatProgress(0, 0)).toBe('0 of 0 B');
});

test.each([
  [0.4, 'just now'],
  [2.9, '2 s ago'],
  [200, '3 min ago'],
  [7200, '2 h ago'],
  [200_000, '2 d ago'],
])('%d seconds are %s', (seconds, text) => {
  expect(formatAgo(seconds)).toBe(text);
});

test('a time has a date only on another day', () => {
  const now = new Date(2026, 2, 12, 15, 0);
  expect(formatTimeOrDate(new Date(2026, 2, 12, 14, 2), now)).toBe('14:02');
  expect(formatTimeOrDate(new Date(2026, 2, 11, 14, 2), now)).toBe('11 Mar, 14:02');
  expect(formatTimeOrDate(new Date(2025, 2, 11, 14, 2), now)).toBe('11 Mar 2025, 14:02');
});

test.each([
  [0, '0 s'],
  [2.34, '2.3 s'],
  [45.2, '45 s'],
  [252, '4 min 12 s'],
  [3600, '1 h'],
  [7500, '2 h 5 min'],
  [273_600, '3 d 4 h'],
  [-90, '−1 min 30 s'],
])('%d seconds last %s', (seconds, expected) => {
  expect(formatDuration(seconds)).toBe(expected);
});

test('old times are shown as dates', () => {
  const now = new Date(2026, 4, 1);
  expect(formatAgoOrDate(new Date(2026, 3, 28), now)).toBe('3 d ago');
  expect(formatAgoOrDate(new Date(2026, 2, 14), now)).toBe('14 Mar');
  expect(formatAgoOrDate(new Date(2023, 10, 14), now)).toBe('14 Nov 2023');
});

test.each([
  [0, '0:00', '0:00.000'],
  [1.25, '0:01', '0:01.250'],
  [59.9996, '0:59', '1:00.000'],
  [62.5, '1:02', '1:02.500'],
  [3661.5, '1:01:01', '1:01:01.500'],
])('the place %d of something that plays reads %s', (seconds, text, fine) => {
  expect(formatPlaybackTime(seconds)).toBe(text);
  expect(formatPlaybackTime(seconds, true)).toBe(fine);
});

test.each([
  [440.2, '440 Hz'],
  [1234, '1.23 kHz'],
  [8000, '8 kHz'],
  [44_100, '44.1 kHz'],
])('%d a second read %s', (hz, text) => expect(formatHz(hz)).toBe(text));

test.each([
  [-31.6, '−32 dB'],
  [-0.1, '0 dB'],
])('the level %d reads %s', (db, text) => expect(formatDb(db)).toBe(text));

describe('short durations', () => {
  it.each([
    [0, '0 ms'],
    [49.23, '49.2 ms'],
    [1203.6, '1.2 s'],
    [3700, '3.7 s'],
    [999.6, '1000 ms'],
    [0.0384, '38.4 µs'],
    [0.00002, '20 ns'],
    [-12.345, '−12.3 ms'],
  ])('of %d ms read as %s', (ms, words) => expect(formatMs(ms)).toBe(words));

  it('microseconds use the same units', () => expect(formatUs(49_230)).toBe('49.2 ms'));
});
