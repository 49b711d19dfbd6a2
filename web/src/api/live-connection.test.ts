import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { LiveConnection, openEventStream } from './live-connection';
import type { HubMessage, PageMessage } from './live-hub';
import {
  FakeEventSource,
  makeDelta,
  makePollResponse,
  mockHandlers,
  STATUS,
} from './live-test-tools';
import { subscribeToLive } from './live-updates';
import type { Alert } from './schemas';

describe('connection', () => {
  const BASE = 'http://localhost:6006/board/';

  let fetched: ReturnType<typeof vi.fn>;
  let handlers: ReturnType<typeof mockHandlers>;

  const stream = (): FakeEventSource => FakeEventSource.latest;

  function connect(): LiveConnection {
    const connection = new LiveConnection(
      { baseUrl: BASE, cursor: 'a.1' },
      handlers,
      openEventStream,
      2,
    );
    connection.start();
    return connection;
  }

  beforeEach(() => {
    vi.useFakeTimers();
    FakeEventSource.all = [];
    handlers = mockHandlers();
    fetched = vi.fn(() => Promise.resolve(Response.json(makePollResponse('a.1'))));
    vi.stubGlobal('EventSource', FakeEventSource);
    vi.stubGlobal('fetch', fetched);
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test('a broken stream is reopened at its last cursor', async () => {
    connect();
    expect(stream().url).toBe(`${BASE}api/v1/live?since=a.1`);
    stream().send('status', STATUS);
    expect(handlers.onOpen).toHaveBeenCalledOnce();
    stream().send('delta', makeDelta('a.7'));
    stream().onerror?.();
    expect(handlers.onLost).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(2000);
    expect(FakeEventSource.all).toHaveLength(2);
    expect(stream().url).toBe(`${BASE}api/v1/live?since=a.7`);
  });

  test('a stream with a heartbeat every 15 seconds stays open for hours', async () => {
    connect();
    stream().send('status', STATUS);
    for (let beats = 0; beats < 1000; beats++) {
      await vi.advanceTimersByTimeAsync(15_000);
      stream().send('ping', { interval_s: 15 });
    }
    expect(FakeEventSource.all).toHaveLength(1);
    expect(handlers.onLost).not.toHaveBeenCalled();
  });

  test('a silent stream is reopened without reporting a lost connection', async () => {
    connect();
    stream().send('status', STATUS);
    await vi.advanceTimersByTimeAsync(46_000);
    expect(FakeEventSource.all).toHaveLength(2);
    stream().send('status', STATUS);
    expect(handlers.onLost).not.toHaveBeenCalled();
  });

  test('how long a stream may be silent depends on the interval of its pings', async () => {
    connect();
    stream().send('status', STATUS);
    stream().send('ping', { interval_s: 2 });
    await vi.advanceTimersByTimeAsync(5000);
    expect(FakeEventSource.all).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2000);
    expect(FakeEventSource.all).toHaveLength(2);
  });

  test('a silent stream that cannot be reopened is reported as lost', async () => {
    connect();
    stream().send('status', STATUS);
    await vi.advanceTimersByTimeAsync(46_000);
    stream().onerror?.();
    expect(handlers.onLost).toHaveBeenCalledOnce();
  });

  test('after two streams without events it polls, and tries a stream again later', async () => {
    connect();
    await vi.advanceTimersByTimeAsync(5000); // open, but a proxy holds all events back
    expect(stream().closed).toBe(true);
    await vi.advanceTimersByTimeAsync(2000);
    const alert = { rule: 'r1' } as unknown as Alert;
    const events = [{ name: 'alert', data: alert } as const];
    fetched.mockResolvedValueOnce(
      Response.json(makePollResponse('a.2', { delta: makeDelta('a.2'), events, last_event: 4 })),
    );
    stream().onerror?.();
    await vi.advanceTimersByTimeAsync(1000);
    expect(handlers.onDelta).toHaveBeenCalledOnce();
    expect(handlers.onEvent).toHaveBeenCalledWith('alert', alert);
    expect(fetched.mock.calls.map(([url]) => url as string)).toEqual([
      `${BASE}api/v1/live/poll?since=a.1`,
      `${BASE}api/v1/live/poll?since=a.2&last_event=4`,
    ]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(FakeEventSource.all).toHaveLength(3);
    stream().send('status', STATUS);
    const polls = fetched.mock.calls.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(fetched.mock.calls).toHaveLength(polls);
  });

  test('while polling, one failed stream goes straight back to polling', async () => {
    connect();
    stream().onerror?.();
    await vi.advanceTimersByTimeAsync(2000);
    stream().onerror?.();
    await vi.advanceTimersByTimeAsync(30_000);
    const polls = fetched.mock.calls.length;
    stream().onerror?.();
    await vi.advanceTimersByTimeAsync(10);
    expect(fetched.mock.calls.length).toBe(polls + 1);
  });

  test('a stream is opened at once when the server comes back', async () => {
    connect();
    stream().send('status', STATUS);
    fetched.mockRejectedValue(new TypeError('no connection'));
    stream().onerror?.();
    await vi.advanceTimersByTimeAsync(2000);
    stream().onerror?.();
    await vi.advanceTimersByTimeAsync(2000);
    stream().onerror?.();
    await vi.advanceTimersByTimeAsync(4000);
    const streams = FakeEventSource.all.length;
    fetched.mockImplementation(() =>
      Promise.resolve(Response.json(makePollResponse('b.1', { reset: true }))),
    );
    await vi.advanceTimersByTimeAsync(2000);
    expect(handlers.onReset).toHaveBeenCalledWith('b.1');
    expect(FakeEventSource.all).toHaveLength(streams + 1);
    expect(stream().url).toBe(`${BASE}api/v1/live?since=b.1`);
  });

  test('a stopped connection neither reopens nor polls', async () => {
    const connection = connect();
    stream().send('status', STATUS);
    connection.stop();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(FakeEventSource.all).toHaveLength(1);
    expect(stream().closed).toBe(true);
    expect(fetched).not.toHaveBeenCalled();
  });
});

describe('updates of a page', () => {
  /** A fake SharedWorker; tests reply through it. */
  class FakeSharedWorker {
    static all: FakeSharedWorker[] = [];
    onerror: (() => void) | null = null;
    closed = false;
    readonly sent: PageMessage[] = [];
    readonly port = {
      onmessage: null as ((event: { data: HubMessage }) => void) | null,
      postMessage: (message: PageMessage) => this.sent.push(message),
      close: () => (this.closed = true),
    };

    constructor(
      readonly url: URL,
      readonly options: { name: string },
    ) {
      FakeSharedWorker.all.push(this);
    }

    reply(message: HubMessage): void {
      this.port.onmessage?.({ data: message });
    }
  }

  let fetched: ReturnType<typeof vi.fn>;
  let handlers: ReturnType<typeof mockHandlers>;
  let page: { hidden: boolean; listener: (() => void) | undefined };

  const worker = (): FakeSharedWorker => FakeSharedWorker.all.at(-1) as FakeSharedWorker;

  function setHidden(hidden: boolean): void {
    page.hidden = hidden;
    page.listener?.();
  }

  beforeEach(() => {
    vi.useFakeTimers();
    FakeSharedWorker.all = [];
    handlers = mockHandlers();
    page = { hidden: false, listener: undefined };
    fetched = vi.fn(() => Promise.resolve(Response.json(makePollResponse('a.1'))));
    vi.stubGlobal('SharedWorker', FakeSharedWorker);
    vi.stubGlobal('fetch', fetched);
    vi.stubGlobal('document', {
      baseURI: 'http://localhost:6006/team/board/?tab=scalars#top',
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

  test('the worker is named by the URL of the board', () => {
    subscribeToLive('a.1', handlers);
    expect(worker().options.name).toBe('http://localhost:6006/team/board/');
    expect(worker().sent).toEqual([{ kind: 'follow', cursor: 'a.1' }]);
  });

  test('messages of the worker reach the page', () => {
    subscribeToLive('a.1', handlers);
    worker().reply({ kind: 'alive' });
    expect(handlers.onOpen).not.toHaveBeenCalled();
    worker().reply({ kind: 'open' });
    expect(handlers.onOpen).toHaveBeenCalledOnce();
    worker().reply({ kind: 'status', status: STATUS });
    expect(handlers.onStatus).toHaveBeenCalledWith(STATUS);
    worker().reply({ kind: 'delta', delta: makeDelta('a.2') });
    expect(handlers.onDelta).toHaveBeenCalledWith(makeDelta('a.2'));
    worker().reply({ kind: 'reset', cursor: 'b.1' });
    expect(handlers.onReset).toHaveBeenCalledWith('b.1');
    worker().reply({ kind: 'other', name: 'alert', body: 1 });
    expect(handlers.onEvent).toHaveBeenCalledWith('alert', 1);
    worker().reply({ kind: 'lost' });
    expect(handlers.onLost).toHaveBeenCalledOnce();
  });

  test('the subscription is renewed with the current cursor', async () => {
    subscribeToLive('a.1', handlers);
    worker().reply({ kind: 'delta', delta: makeDelta('a.2') });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(worker().sent.at(-1)).toEqual({ kind: 'follow', cursor: 'a.2' });
  });

  test('a hidden page leaves, and joins again from its cursor when it is visible', () => {
    const stop = subscribeToLive('a.1', handlers);
    worker().reply({ kind: 'delta', delta: makeDelta('a.2') });
    setHidden(true);
    expect(worker().sent.at(-1)).toEqual({ kind: 'leave' });
    expect(worker().closed).toBe(true);
    setHidden(false);
    expect(FakeSharedWorker.all).toHaveLength(2);
    expect(worker().sent).toEqual([{ kind: 'follow', cursor: 'a.2' }]);
    stop();
    expect(worker().sent.at(-1)).toEqual({ kind: 'leave' });
    expect(page.listener).toBeUndefined();
  });

  test('a page polls where the browser has no shared workers', async () => {
    vi.stubGlobal('SharedWorker', undefined);
    subscribeToLive('a.1', handlers);
    await vi.advanceTimersByTimeAsync(1500);
    expect(fetched.mock.calls.map(([url]) => url as string)).toEqual([
      'api/v1/live/poll?since=a.1',
      'api/v1/live/poll?since=a.1&last_event=0',
    ]);
    expect(handlers.onLost).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(fetched.mock.calls.length).toBeGreaterThan(110);
  });

  test('a page polls when the script of the worker cannot be loaded, and tries again later', async () => {
    subscribeToLive('a.1', handlers);
    worker().onerror?.();
    await vi.advanceTimersByTimeAsync(10);
    expect(fetched).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(FakeSharedWorker.all).toHaveLength(2);
    worker().reply({ kind: 'alive' });
    const polls = fetched.mock.calls.length;
    await vi.advanceTimersByTimeAsync(5000);
    expect(fetched.mock.calls).toHaveLength(polls);
    expect(handlers.onLost).not.toHaveBeenCalled();
  });

  test('a page polls when the worker stops replying', async () => {
    subscribeToLive('a.1', handlers);
    worker().reply({ kind: 'open' });
    await vi.advanceTimersByTimeAsync(46_000);
    expect(worker().closed).toBe(true);
    expect(fetched).toHaveBeenCalled();
  });
});
