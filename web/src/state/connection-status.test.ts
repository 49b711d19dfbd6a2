import { expect, test } from 'vitest';

import type { LoadStatus } from '../api/schemas';
import { type ConnectionInput, connectionStatus } from './connection-status';

const now = new Date(2026, 2, 12, 15, 0, 0).getTime();
const read: LoadStatus = {
  loading: false,
  problems: [],
  problem_count: 0,
  progress: { files_done: 4, files_total: 4, bytes_done: 10, bytes_total: 10 },
};
const input: ConnectionInput = {
  connection: 'open',
  paused: false,
  status: read,
  changedAt: null,
  lastPoint: null,
  now,
  exportedAt: null,
};

const describe = (part: Partial<ConnectionInput>): string => {
  const { kind, label, detail } = connectionStatus({ ...input, ...part });
  return `${kind}: ${label} ${detail}`.trim();
};

test('a recent point means live', () => {
  expect(describe({ changedAt: now - 2000 })).toBe('live: Live 2 s ago');
  expect(describe({ lastPoint: new Date(now - 5000) })).toBe('live: Live 5 s ago');
});

test('a writer with a clock ahead of ours has logged now', () => {
  expect(describe({ lastPoint: new Date(now + 60_000) })).toBe('live: Live just now');
});

test('a log without new points is idle', () => {
  expect(describe({ lastPoint: new Date(2026, 2, 12, 14, 2) })).toBe('idle: Idle since 14:02');
});

test('a log without points waits for the first', () => {
  expect(describe({})).toBe('live: Live no data yet');
});

test('loading shows progress', () => {
  const progress = { files_done: 1, files_total: 4, bytes_done: 1.2e9, bytes_total: 1.9e9 };
  const status = { ...read, loading: true, progress };
  expect(describe({ status })).toBe('loading: Loading… 1 of 4 files, 1.2 of 1.9 GB');
  expect(connectionStatus({ ...input, status }).progress).toBeCloseTo(0.63, 2);
  expect(connectionStatus({ ...input, status }).tooltip).toBe('Read 1 of 4 files, 1.2 of 1.9 GB');
});

test('paused updates are shown', () => {
  expect(describe({ paused: true, changedAt: now })).toBe('paused: Updates paused');
});

test('an unreachable server comes first', () => {
  expect(describe({ connection: 'lost' })).toBe('lost: Server unreachable reconnecting…');
  expect(describe({ connection: 'connecting', status: null })).toBe('connecting: Connecting…');
});

test('a static export shows when it was made', () => {
  const exportedAt = new Date(2026, 2, 12, 9, 30);
  expect(describe({ exportedAt, changedAt: now, paused: true })).toBe(
    'static: Static export exported 09:30',
  );
});
