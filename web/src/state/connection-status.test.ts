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
const signs: ConnectionInput = {
  connection: 'open',
  paused: false,
  status: read,
  changedAt: null,
  lastPoint: null,
  now,
  exportedAt: null,
};

const say = (part: Partial<ConnectionInput>): string => {
  const { kind, label, detail } = connectionStatus({ ...signs, ...part });
  return `${kind}: ${label} ${detail}`.trim();
};

test('a point that has just come is live', () => {
  expect(say({ changedAt: now - 2000 })).toBe('live: Live 2 s ago');
  expect(say({ lastPoint: new Date(now - 5000) })).toBe('live: Live 5 s ago');
});

test('a writer whose clock is ahead logs now', () => {
  expect(say({ lastPoint: new Date(now + 60_000) })).toBe('live: Live now');
});

test('a log that is quiet is idle since then', () => {
  expect(say({ lastPoint: new Date(2026, 2, 12, 14, 2) })).toBe('idle: Idle since 14:02');
});

test('a log without points waits for them', () => {
  expect(say({})).toBe('live: Live no points yet');
});

test('loading tells how far it is', () => {
  const progress = { files_done: 1, files_total: 4, bytes_done: 1.2e9, bytes_total: 1.9e9 };
  const status = { ...read, loading: true, progress };
  expect(say({ status })).toBe('loading: Loading 1 of 4 files, 1.2 of 1.9 GB');
  expect(connectionStatus({ ...signs, status }).progress).toBeCloseTo(0.63, 2);
  expect(connectionStatus({ ...signs, status }).tooltip).toBe('1 of 4 files read, 1.2 of 1.9 GB');
});

test('a picture that stands still says so', () => {
  expect(say({ paused: true, changedAt: now })).toBe('paused: Paused');
});

test('a lost connection is told before anything else', () => {
  expect(say({ connection: 'lost' })).toBe('lost: Connection lost trying again');
  expect(say({ connection: 'connecting', status: null })).toBe('connecting: Connecting');
});

test('a copy tells its age, whatever else there is to tell', () => {
  const copiedAt = new Date(2026, 2, 12, 9, 30);
  expect(say({ exportedAt: copiedAt, changedAt: now, paused: true })).toBe('copy: Copy made 09:30');
});
