import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { LiveHub, type HubMessage } from './live-hub';
import { makePollResponse, makeDelta, FakeEventSource, STATUS } from './live-test-tools';

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
