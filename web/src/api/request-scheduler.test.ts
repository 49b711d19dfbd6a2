import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { RequestScheduler } from './request-scheduler';

let calls = 0;

beforeEach(() => {
  vi.useFakeTimers();
  calls = 0;
});

afterEach(() => {
  vi.useRealTimers();
});

const takes = (ms: number) => (): Promise<void> => {
  calls++;
  return new Promise((resolve) => setTimeout(resolve, ms));
};

test('simultaneous requests are coalesced', async () => {
  const pace = new RequestScheduler(takes(10), 1000);
  for (let i = 0; i < 5; i++) pace.schedule();
  await vi.advanceTimersByTimeAsync(900);
  expect(calls).toBe(1);
});

test('a request during a run causes a follow-up after the pause', async () => {
  const pace = new RequestScheduler(takes(10), 1000);
  pace.schedule();
  await vi.advanceTimersByTimeAsync(5);
  pace.schedule();
  await vi.advanceTimersByTimeAsync(900);
  expect(calls).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(calls).toBe(2);
});

test('slow work makes the pause longer', async () => {
  const pace = new RequestScheduler(takes(1000), 1000);
  pace.schedule();
  await vi.advanceTimersByTimeAsync(1001);
  pace.schedule();
  await vi.advanceTimersByTimeAsync(4900);
  expect(calls).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(calls).toBe(2);
});

test('urgent requests skip the pause', async () => {
  const pace = new RequestScheduler(takes(10), 1000);
  pace.schedule();
  await vi.advanceTimersByTimeAsync(20);
  pace.schedule();
  pace.scheduleNow();
  await vi.advanceTimersByTimeAsync(1);
  expect(calls).toBe(2);
  pace.scheduleNow();
  await vi.advanceTimersByTimeAsync(15);
  expect(calls).toBe(3);
});

test('work that is started now is not started twice', async () => {
  const pace = new RequestScheduler(takes(10), 1000);
  pace.startNow();
  expect(calls).toBe(1);
  pace.startNow();
  pace.schedule();
  await vi.advanceTimersByTimeAsync(900);
  expect(calls).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(calls).toBe(2);
});

test('an exception does not stop later runs, and is reported', async () => {
  const report = vi.fn();
  vi.stubGlobal('reportError', report);
  const scheduler = new RequestScheduler(() => {
    calls++;
    return calls === 1 ? Promise.reject(new TypeError('a bug')) : Promise.resolve();
  }, 1000);
  scheduler.schedule();
  await vi.advanceTimersByTimeAsync(1);
  scheduler.schedule();
  await vi.advanceTimersByTimeAsync(1001);
  expect(calls).toBe(2);
  expect(report).toHaveBeenCalledOnce();
  vi.unstubAllGlobals();
});
