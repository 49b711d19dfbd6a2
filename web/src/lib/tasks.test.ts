import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { runToEnd, runInSlices, type Task } from './tasks';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Takes so many milliseconds in each of its parts. */
function* slow(parts: number, partMs: number, log: number[]): Task<string> {
  for (let part = 0; part < parts; part++) {
    vi.spyOn(performance, 'now').mockReturnValue((log.length + 1) * partMs);
    log.push(part);
    yield;
  }
  return 'done';
}

test('others have their turn between pieces, and the result comes at the end', () => {
  const [log, results]: [number[], string[]] = [[], []];
  runInSlices(slow(5, 10, log), (result) => results.push(result));
  expect(log.length).toBeLessThan(5);
  expect(results).toEqual([]);
  vi.runAllTimers();
  expect(log).toEqual([0, 1, 2, 3, 4]);
  expect(results).toEqual(['done']);
});

test('what was called off is not gone on with', () => {
  const [log, results]: [number[], string[]] = [[], []];
  const stop = runInSlices(slow(50, 10, log), (result) => results.push(result));
  stop();
  vi.runAllTimers();
  expect(log.length).toBeLessThan(5);
  expect(results).toEqual([]);
});

test('it can be done at once as well', () => {
  expect(runToEnd(slow(3, 10, []))).toBe('done');
});
