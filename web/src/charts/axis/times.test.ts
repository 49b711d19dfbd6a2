import { expect, test } from 'vitest';

import { clockTicks, durationTicks, formatDuration } from './times';

const texts = (ticks: readonly { text: string }[]): string[] => ticks.map(({ text }) => text);

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
  expect(formatDuration(seconds)).toBe(text);
});

test('durations have steps that clocks have', () => {
  expect(texts(durationTicks([0, 3600], 4))).toEqual(['0', '15m', '30m', '45m', '1h']);
  expect(texts(durationTicks([0, 90], 3))).toEqual(['0', '30s', '1m', '1m 30s']);
  expect(texts(durationTicks([0, 2], 4))).toEqual(['0', '500ms', '1s', '1.5s', '2s']);
});

test('a long time is told in days', () => {
  expect(texts(durationTicks([0, 40 * 86_400], 4))).toEqual(['0', '14d', '28d']);
});

test('clock times are those of this place, with the day at midnight', () => {
  const start = new Date(2026, 2, 11, 18, 0).getTime() / 1000;
  expect(texts(clockTicks([start, start + 12 * 3600], 4))).toEqual([
    '18:00',
    '21:00',
    '12 Mar',
    '03:00',
    '06:00',
  ]);
});

test('seconds are told when minutes are not enough', () => {
  const start = new Date(2026, 2, 11, 18, 0).getTime() / 1000;
  expect(texts(clockTicks([start, start + 20], 4))).toEqual([
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
  expect(texts(clockTicks([from, to], 6))).toEqual(['Dec', '2026', 'Feb', 'Mar', 'Apr', 'May']);
});
