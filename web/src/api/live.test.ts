import { afterEach, beforeEach, describe, expect, type Mock, test, vi } from 'vitest';

import {
  type HubMessage,
  LiveConnection,
  type LiveHandlers,
  LiveHub,
  openEventStream,
  type PageMessage,
} from './live-connection';
import { subscribeToLive } from './live-updates';
import type { Alert, DeltaEvent, LoadStatus, PollResponse } from './schemas';

const STATUS: LoadStatus = {
  loading: false,
  progress: { files_done: 0, files_total: 0, bytes_done: 0, bytes_total: 0 },
  problems: [],
  problem_count: 0,
};

const makePollResponse = (cursor: string, more: Partial<PollResponse> = {}): PollResponse => ({
  cursor,
  last_event: 0,
  reset: false,
  status: STATUS,
  delta: null,
  events: [],
  ...more,
});

const makeDelta = (cursor: string): DeltaEvent => ({
  cursor,
  added: [],
  removed: [],
  changed: [],
  tags: [],
  tags_truncated: false,
  points: {},
  points_truncated: false,
});

/** A fake EventSource; tests send events through it. */
class FakeEventSource {
  static all: FakeEventSource[] = [];
  onerror: (() => void) | null = null;
  closed = false;
  readonly #listeners = new Map<string, (event: { data: string }) => void>();

  constructor(readonly url: string) {
    FakeEventSource.all.push(this);
  }

  static get latest(): FakeEventSource {
    return FakeEventSource.all.at(-1) as FakeEventSource;
  }

  static get open(): FakeEventSource[] {
    return FakeEventSource.all.filter(({ closed }) => !closed);
  }

  addEventListener(name: string, listener: (event: { data: string }) => void): void {
    this.#listeners.set(name, listener);
  }

  close(): void {
    this.closed = true;
  }

  send(name: string, body: unknown): void {
    if (!this.closed) this.#listeners.get(name)?.({ data: JSON.stringify(body) });
  }
}

function mockHandlers(): { [Name in keyof LiveHandlers]: Mock<LiveHandlers[Name]> } {
  return {
    onOpen: vi.fn(),
    onLost: vi.fn(),
    onStatus: vi.fn(),
    onDelta: vi.fn(),
    onReset: vi.fn(),
    onEvent: vi.fn(),
  };
}

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

describe('live hub', () => {
  const BASE = 'http://localhost:6006/';

  /** A page that renews its subscription as real ones do, until it is closed. */
  class FakePage {
    readonly received: HubMessage[] = [];
    readonly post = (message: HubMessage): void => {
      if (message.kind === 'delta') this.cursor = message.delta.cursor;
      if (message.kind === 'reset') this.cursor = message.cursor;
      this.received.push(message);
    };
    #timer: ReturnType<typeof setInterval> | undefined;

    constructor(
      readonly hub: LiveHub,
      public cursor: string,
    ) {
      this.#follow();
      this.#timer = setInterval(() => this.#follow(), 10_000);
    }

    #follow(): void {
      this.hub.receive(this.post, { kind: 'follow', cursor: this.cursor });
    }

    leave(): void {
      this.crash();
      this.hub.receive(this.post, { kind: 'leave' });
    }

    crash(): void {
      clearInterval(this.#timer);
    }

    count(kind: HubMessage['kind']): number {
      return this.received.filter((message) => message.kind === kind).length;
    }
  }

  let fetched: ReturnType<typeof vi.fn>;
  let hub: LiveHub;

  const stream = (): FakeEventSource => FakeEventSource.latest;
  const polls = (): string[] => fetched.mock.calls.map(([url]) => url as string);

  beforeEach(() => {
    vi.useFakeTimers();
    FakeEventSource.all = [];
    fetched = vi.fn(() => Promise.resolve(Response.json(makePollResponse('a.1'))));
    vi.stubGlobal('EventSource', FakeEventSource);
    vi.stubGlobal('fetch', fetched);
    hub = new LiveHub(BASE);
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test('all pages share one stream', () => {
    const pages = Array.from({ length: 16 }, () => new FakePage(hub, 'a.1'));
    stream().send('status', STATUS);
    stream().send('delta', makeDelta('a.2'));
    stream().send('alert', { id: 'x' });
    expect(FakeEventSource.all).toHaveLength(1);
    expect(stream().url).toBe(`${BASE}api/v1/live?since=a.1`);
    for (const page of pages) {
      expect(page.received.map(({ kind }) => kind)).toEqual([
        'alive',
        'open',
        'status',
        'delta',
        'other',
      ]);
    }
    expect(polls()).toEqual([]);
  });

  test('a page that joins an open stream receives its state', () => {
    new FakePage(hub, 'a.1');
    stream().send('status', STATUS);
    const late = new FakePage(hub, 'a.1');
    expect(late.received.map(({ kind }) => kind)).toEqual(['alive', 'open', 'status']);
  });

  test('a page that joins again receives the revisions it missed, but no alerts', () => {
    new FakePage(hub, 'a.1');
    stream().send('status', STATUS);
    stream().send('dashboard', { name: 'workspaces', revision: '1' });
    stream().send('dashboard', { name: 'workspaces', revision: '2' });
    stream().send('alert', { id: 'x' });
    const late = new FakePage(hub, 'a.1');
    expect(late.received.at(-1)).toEqual({
      kind: 'other',
      name: 'dashboard',
      body: { name: 'workspaces', revision: '2' },
    });
    expect(late.count('other')).toBe(1);
  });

  test('a page behind the stream catches up from its own cursor', async () => {
    new FakePage(hub, 'a.5');
    stream().send('status', STATUS);
    fetched.mockResolvedValueOnce(
      Response.json(makePollResponse('a.5', { delta: makeDelta('a.5') })),
    );
    const late = new FakePage(hub, 'a.2');
    await vi.advanceTimersByTimeAsync(10);
    expect(polls()).toEqual([`${BASE}api/v1/live/poll?since=a.2`]);
    expect(late.cursor).toBe('a.5');
    stream().send('delta', makeDelta('a.6'));
    await vi.advanceTimersByTimeAsync(10);
    expect(late.cursor).toBe('a.6');
    expect(polls()).toHaveLength(1);
  });

  test('a change during catch-up is not lost', async () => {
    const first = new FakePage(hub, 'a.5');
    stream().send('status', STATUS);
    let reply: (response: Response) => void = () => undefined;
    fetched.mockReturnValueOnce(new Promise((resolve) => (reply = resolve)));
    fetched.mockResolvedValueOnce(
      Response.json(makePollResponse('a.6', { delta: makeDelta('a.6') })),
    );
    const late = new FakePage(hub, 'a.2');
    stream().send('delta', makeDelta('a.6'));
    expect(first.cursor).toBe('a.6');
    reply(Response.json(makePollResponse('a.5', { delta: makeDelta('a.5') })));
    await vi.advanceTimersByTimeAsync(10);
    expect(polls().map((url) => url.split('since=')[1])).toEqual(['a.2', 'a.5']);
    expect(late.cursor).toBe('a.6');
  });

  test('a page ahead of the stream never gets a change that starts before its cursor', async () => {
    // A run that came after a.1 and went before a.9 is not in the change from a.1 to a.9, but a
    // page at a.5 shows it.
    new FakePage(hub, 'a.1');
    stream().send('status', STATUS);
    fetched.mockResolvedValueOnce(Response.json(makePollResponse('a.5')));
    const ahead = new FakePage(hub, 'a.5');
    await vi.advanceTimersByTimeAsync(10);
    const own = { ...makeDelta('a.9'), removed: ['gone'] };
    fetched.mockResolvedValueOnce(Response.json(makePollResponse('a.9', { delta: own })));
    stream().send('delta', makeDelta('a.9'));
    await vi.advanceTimersByTimeAsync(10);
    const deltas = ahead.received.filter((message) => message.kind === 'delta');
    expect(deltas).toEqual([{ kind: 'delta', delta: own }]);
  });

  test('a page whose catch-up fails is reset', async () => {
    new FakePage(hub, 'a.5');
    stream().send('status', STATUS);
    fetched.mockRejectedValueOnce(new TypeError('no connection'));
    const late = new FakePage(hub, 'a.2');
    await vi.advanceTimersByTimeAsync(10);
    expect(late.received.at(-1)).toEqual({ kind: 'reset', cursor: 'a.5' });
  });

  test('after a restart of the server every page reloads', async () => {
    const pages = [new FakePage(hub, 'a.5'), new FakePage(hub, 'a.5')];
    stream().send('status', STATUS);
    stream().onerror?.();
    for (const page of pages) expect(page.count('lost')).toBe(1);
    await vi.advanceTimersByTimeAsync(2000);
    stream().send('status', STATUS);
    stream().send('reset', { cursor: 'b.1' });
    for (const page of pages) {
      expect(page.received.at(-1)).toEqual({ kind: 'reset', cursor: 'b.1' });
      expect(page.count('open')).toBe(2);
    }
  });

  test('a page that loads while the connection is lost reconnects it at once', () => {
    const first = new FakePage(hub, 'a.5');
    stream().send('status', STATUS);
    stream().onerror?.();
    const second = new FakePage(hub, 'b.1');
    expect(FakeEventSource.all).toHaveLength(2);
    expect(second.count('lost')).toBe(0);
    stream().send('status', STATUS);
    stream().send('reset', { cursor: 'b.1' });
    expect([first.cursor, second.cursor]).toEqual(['b.1', 'b.1']);
  });

  test('the stream closes with the last page and opens at the cursor of the next', () => {
    const first = new FakePage(hub, 'a.1');
    const second = new FakePage(hub, 'a.1');
    first.leave();
    expect(FakeEventSource.open).toHaveLength(1);
    second.leave();
    expect(FakeEventSource.open).toHaveLength(0);
    new FakePage(hub, 'a.8');
    expect(stream().url).toBe(`${BASE}api/v1/live?since=a.8`);
  });

  test('a page that leaves receives nothing more, and the others continue', () => {
    const leaving = new FakePage(hub, 'a.1');
    const staying = new FakePage(hub, 'a.1');
    stream().send('status', STATUS);
    leaving.leave();
    stream().send('delta', makeDelta('a.2'));
    expect(leaving.count('delta')).toBe(0);
    expect(staying.count('delta')).toBe(1);
  });

  test('a crashed page is forgotten', async () => {
    new FakePage(hub, 'a.1').crash();
    const alive = new FakePage(hub, 'a.1');
    await vi.advanceTimersByTimeAsync(90_000);
    alive.leave();
    expect(FakeEventSource.open).toHaveLength(0);
  });

  test('a page that was taken for crashed joins again by itself', async () => {
    new FakePage(hub, 'a.1');
    const frozen = new FakePage(hub, 'a.1');
    stream().send('status', STATUS);
    frozen.crash();
    for (let beats = 0; beats < 6; beats++) {
      await vi.advanceTimersByTimeAsync(15_000);
      stream().send('ping', { interval_s: 15 });
    }
    fetched.mockResolvedValueOnce(
      Response.json(makePollResponse('a.3', { delta: makeDelta('a.3') })),
    );
    stream().send('delta', makeDelta('a.3'));
    expect(frozen.cursor).toBe('a.1');
    hub.receive(frozen.post, { kind: 'follow', cursor: frozen.cursor });
    await vi.advanceTimersByTimeAsync(10);
    expect(frozen.cursor).toBe('a.3');
  });
});
