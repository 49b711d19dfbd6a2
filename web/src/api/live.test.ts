import { afterEach, beforeEach, expect, test, vi, type Mock } from 'vitest';

import { followLive, type LiveHandlers } from './live';
import type { PollAnswer, Status } from './types';

const STATUS: Status = {
  loading: false,
  progress: { files_done: 0, files_total: 0, bytes_done: 0, bytes_total: 0 },
  problems: [],
  problem_count: 0,
};

const answer = (cursor: string, more: Partial<PollAnswer> = {}): PollAnswer => ({
  cursor,
  heard: 0,
  reset: false,
  status: STATUS,
  delta: null,
  said: [],
  ...more,
});

const delta = (cursor: string): object => ({ cursor, added: [], removed: [], changed: [] });

/** Stands in for a browser's stream; tests speak through it. */
class FakeSource {
  static all: FakeSource[] = [];
  onerror: (() => void) | null = null;
  closed = false;
  readonly #listeners = new Map<string, (event: { data: string }) => void>();

  constructor(readonly url: string) {
    FakeSource.all.push(this);
  }

  addEventListener(name: string, listener: (event: { data: string }) => void): void {
    this.#listeners.set(name, listener);
  }

  close(): void {
    this.closed = true;
  }

  say(name: string, body: unknown): void {
    this.#listeners.get(name)?.({ data: JSON.stringify(body) });
  }
}

const latest = (): FakeSource => FakeSource.all.at(-1) as FakeSource;

function listen(): { [Name in keyof LiveHandlers]: Mock<LiveHandlers[Name]> } {
  return {
    onOpen: vi.fn(),
    onLost: vi.fn(),
    onStatus: vi.fn(),
    onDelta: vi.fn(),
    onReset: vi.fn(),
    onOther: vi.fn(),
  };
}

let ask: ReturnType<typeof vi.fn>;
let page: { hidden: boolean; listener: (() => void) | undefined };

beforeEach(() => {
  vi.useFakeTimers();
  FakeSource.all = [];
  page = { hidden: false, listener: undefined };
  ask = vi.fn(() => Promise.resolve(Response.json(answer('a.1'))));
  vi.stubGlobal('EventSource', FakeSource);
  vi.stubGlobal('fetch', ask);
  vi.stubGlobal('document', {
    get hidden() {
      return page.hidden;
    },
    addEventListener: (_: string, listener: () => void) => (page.listener = listener),
    removeEventListener: () => (page.listener = undefined),
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a stream that breaks goes on where it was', async () => {
  const handlers = listen();
  followLive('a.1', handlers);
  expect(latest().url).toBe('api/live?since=a.1');
  latest().say('status', STATUS);
  expect(handlers.onOpen).toHaveBeenCalledOnce();
  latest().say('delta', delta('a.7'));
  latest().onerror?.();
  expect(handlers.onLost).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(2000);
  expect(FakeSource.all).toHaveLength(2);
  expect(latest().url).toBe('api/live?since=a.7');
});

test('two streams that say nothing are enough: it polls, and later tries a stream again', async () => {
  const handlers = listen();
  followLive('a.1', handlers);
  await vi.advanceTimersByTimeAsync(5000); // open, but a proxy holds everything back
  expect(latest().closed).toBe(true);
  await vi.advanceTimersByTimeAsync(2000);
  ask.mockResolvedValueOnce(
    Response.json(
      answer('a.2', { delta: delta('a.2') as never, said: [{ name: 'alert', body: 1 }], heard: 4 }),
    ),
  );
  latest().onerror?.();
  await vi.advanceTimersByTimeAsync(1000);
  expect(handlers.onDelta).toHaveBeenCalledOnce();
  expect(handlers.onOther).toHaveBeenCalledWith('alert', 1);
  expect(ask.mock.calls.map(([url]) => url as string)).toEqual([
    'api/live/poll?since=a.1',
    'api/live/poll?since=a.2&heard=4',
  ]);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(FakeSource.all).toHaveLength(3);
  latest().say('status', STATUS);
  const asked = ask.mock.calls.length;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ask.mock.calls).toHaveLength(asked);
});

test('one failed try for a stream goes straight back to polling', async () => {
  followLive('a.1', listen());
  latest().onerror?.();
  await vi.advanceTimersByTimeAsync(2000);
  latest().onerror?.();
  await vi.advanceTimersByTimeAsync(30_000);
  const asked = ask.mock.calls.length;
  latest().onerror?.();
  await vi.advanceTimersByTimeAsync(10);
  expect(ask.mock.calls.length).toBe(asked + 1);
});

test('a server that comes back is asked for a stream at once', async () => {
  const handlers = listen();
  followLive('a.1', handlers);
  latest().say('status', STATUS);
  ask.mockRejectedValue(new TypeError('no connection'));
  latest().onerror?.();
  await vi.advanceTimersByTimeAsync(2000);
  latest().onerror?.();
  await vi.advanceTimersByTimeAsync(2000);
  latest().onerror?.();
  await vi.advanceTimersByTimeAsync(4000);
  const streams = FakeSource.all.length;
  ask.mockImplementation(() => Promise.resolve(Response.json(answer('b.1', { reset: true }))));
  await vi.advanceTimersByTimeAsync(2000);
  expect(handlers.onReset).toHaveBeenCalledWith('b.1');
  expect(FakeSource.all).toHaveLength(streams + 1);
  expect(latest().url).toBe('api/live?since=b.1');
});

test('a page that is not seen lets go', () => {
  const stop = followLive('a.1', listen());
  page.hidden = true;
  page.listener?.();
  expect(latest().closed).toBe(true);
  page.hidden = false;
  page.listener?.();
  expect(FakeSource.all).toHaveLength(2);
  stop();
  expect(latest().closed).toBe(true);
  expect(page.listener).toBeUndefined();
});
