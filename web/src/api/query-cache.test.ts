import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { NetworkError, ServerError } from './errors';
import { QueryCache } from './query-cache';
import {
  definePluginQuery,
  defineQuery,
  type ObserveOptions,
  type QueryDefinition,
} from './query-definition';
import { type Query, QueryObserver } from './create-query.svelte';
import { FakeTransport, settle } from './query-test-tools';

let transport: FakeTransport;
let cache: QueryCache;
let bugs: unknown[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  transport = new FakeTransport();
  bugs = [];
  vi.stubGlobal('reportError', (error: unknown) => bugs.push(error));
  cache = new QueryCache({ transport });
});

afterEach(() => {
  cache.dispose();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

interface Named {
  readonly name: string;
}

const plain = definePluginQuery<Named, Named, string>('GET demo/value', { scope: 'log' });
const immutable = definePluginQuery<Named, Named, string>('GET demo/fixed', { scope: 'immutable' });

interface Item {
  readonly view: { readonly runs: readonly string[] };
  readonly tag: string;
}
interface ItemsRequest {
  readonly runs: readonly string[];
  readonly tags: readonly string[];
}
type ItemsResponse = Readonly<Record<string, string>>;

const batched = definePluginQuery<Item, ItemsRequest, ItemsResponse, string>('POST demo/items', {
  scope: ({ view }) => view,
  minRefreshMs: 250,
  batch: {
    shared: ({ view }) => view,
    item: ({ tag }) => tag,
    maxItems: 3,
    join: (requests) => ({ runs: requests[0]?.view.runs ?? [], tags: requests.map((r) => r.tag) }),
    split: (response, requests) =>
      requests.map(({ tag }) => {
        const value = response[tag];
        return value ?? new ServerError({ message: `no ${tag}`, hint: '' }, 200);
      }),
  },
});

/** Batches of one request: the next one is sent when the response has arrived. */
const oneAtATime = {
  shared: () => ({}),
  item: ({ name }: Named) => name,
  maxItems: 1,
  join: (requests: readonly Named[]) => ({ name: requests[0]?.name ?? '' }),
  split: <Response>(response: Response): readonly Response[] => [response],
};

const refusal = (status: number, retryAfterS: number | null = null): ServerError =>
  new ServerError({ message: 'refused', hint: '' }, status, retryAfterS);

type QueryState<Data> = Pick<Query<Data>, 'data' | 'error' | 'status' | 'isStale'> & {
  readonly bug?: unknown;
};

function readState<Data>({ data, error, status, isStale }: Query<Data>): QueryState<Data> {
  return { data, error, status, isStale };
}

interface Watched<Request, Data> {
  state: QueryState<Data>;
  readonly seen: QueryState<Data>[];
  set(request: Request | null): Promise<void>;
  retry(): Promise<void>;
  leave(): Promise<void>;
}

function watch<Request, Data>(
  definition: QueryDefinition<Request, Data>,
  request: Request | null,
  options: ObserveOptions<Request> = {},
): Watched<Request, Data> {
  const seen: QueryState<Data>[] = [];
  const observer = new QueryObserver<Request, Data>(cache, definition, options, (query) =>
    seen.push(readState(query)),
  );
  const act = (change: () => void): Promise<void> => (change(), settle());
  observer.setRequest(request);
  return {
    seen,
    get state(): QueryState<Data> {
      try {
        return readState(observer);
      } catch (bug) {
        return { data: undefined, error: null, status: 'idle', isStale: false, bug };
      }
    },
    set: (next) => act(() => observer.setRequest(next)),
    retry: () => act(() => observer.retry()),
    leave: () => act(() => observer.dispose()),
  };
}

const advance = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
  await settle();
};

const tagsOf = (index = -1): readonly string[] => (transport.get(index).body as ItemsRequest).tags;

// ---- Sharing

test('equal requests share one response', async () => {
  const one = watch(plain, { name: 'a' });
  const two = watch(plain, { name: 'a' });
  await settle();
  expect(transport.sent.map(({ path }) => path)).toEqual(['api/v1/demo/value?name=a']);
  expect(one.state.status).toBe('loading');
  await transport.get().respond('A');
  expect([one.state.data, two.state.data]).toEqual(['A', 'A']);
  const late = watch(plain, { name: 'a' });
  await settle();
  expect(late.state).toMatchObject({ data: 'A', status: 'ready' });
  expect(transport.sent).toHaveLength(1);
});

test('fetch shares and caches; an aborted caller leaves the request to the others', async () => {
  const controller = new AbortController();
  const aborted = cache.fetch(immutable, { name: 'a' }, { signal: controller.signal });
  const kept = cache.fetch(immutable, { name: 'a' });
  await settle();
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  await advance(10);
  await transport.get().respond('A');
  await expect(kept).resolves.toBe('A');
  await expect(cache.fetch(immutable, { name: 'a' })).resolves.toBe('A');
  expect(transport.sent).toHaveLength(1);
});

test('definitions of the same route do not mix their data', async () => {
  const length = definePluginQuery<Named, Named, string, string, number>('GET demo/value', {
    scope: 'log',
    select: (text) => text.length,
  });
  const text = watch(plain, { name: 'a' });
  const count = watch(length, { name: 'a' });
  await settle();
  await transport.get(0).respond('four');
  await transport.get(1).respond('four');
  expect([text.state.data, count.state.data]).toEqual(['four', 4]);
});

// ---- Batching

test('requests of one task travel together, in order, up to the limit', async () => {
  const view = { runs: ['r'] };
  const all = ['a', 'b', 'c', 'd'].map((tag) => watch(batched, { view, tag }));
  await settle();
  expect(transport.sent).toHaveLength(1);
  expect(transport.get().body).toEqual({ runs: ['r'], tags: ['a', 'b', 'c'] });
  await transport.get().respond({ a: '1', b: '2', c: '3' });
  // The rest does not wait for a pause.
  expect(tagsOf()).toEqual(['d']);
  await transport.get().respond({ d: '4' });
  expect(all.map(({ state }) => state.data)).toEqual(['1', '2', '3', '4']);
});

test('equal shared parts are one batch, different ones are not', async () => {
  watch(batched, { view: { runs: ['r'] }, tag: 'a' });
  watch(batched, { view: { runs: ['r'] }, tag: 'b' });
  watch(batched, { view: { runs: ['other'] }, tag: 'a' });
  await settle();
  expect(tagsOf()).toEqual(['a', 'b']);
  await transport.get().respond({ a: '1', b: '2' });
  expect(transport.get().body).toEqual({ runs: ['other'], tags: ['a'] });
});

test('the first batch may be smaller, and is painted before the next', async () => {
  let painted: () => void = () => undefined;
  cache = new QueryCache({
    transport,
    afterPaint: () => new Promise<void>((resolve) => (painted = resolve)),
  });
  const first: typeof batched = {
    ...batched,
    batch: { ...(batched.batch as NonNullable<typeof batched.batch>), firstItems: 1 },
  };
  const view = { runs: ['r'] };
  for (const tag of ['a', 'b', 'c']) watch(first, { view, tag });
  await settle();
  expect(tagsOf()).toEqual(['a']);
  await transport.get().respond({ a: '1' });
  expect(transport.sent).toHaveLength(1);
  painted();
  await settle();
  expect(tagsOf()).toEqual(['b', 'c']);
});

test('an error of one item does not affect the others', async () => {
  const view = { runs: ['r'] };
  const good = watch(batched, { view, tag: 'a' });
  const bad = watch(batched, { view, tag: 'b' });
  await settle();
  await transport.get().respond({ a: '1' });
  expect(good.state).toMatchObject({ data: '1', error: null, status: 'ready' });
  expect(bad.state).toMatchObject({ status: 'error', error: { message: 'no b' } });
});

test('a batch that is refused is sent again item by item', async () => {
  const view = { runs: ['r'] };
  const [good, bad] = ['a', 'gone'].map((tag) => watch(batched, { view, tag }));
  await settle();
  await transport.get().fail(refusal(404));
  expect(good?.state).toMatchObject({ status: 'loading', error: null });
  expect(tagsOf()).toEqual(['a']);
  await transport.get().respond({ a: '1' });
  expect(tagsOf()).toEqual(['gone']);
  await transport.get().fail(refusal(404));
  expect(good?.state.data).toBe('1');
  expect(bad?.state).toMatchObject({ status: 'error', error: { status: 404 } });
  expect(transport.sent).toHaveLength(3);
});

// ---- Cancellation

test('a request is aborted when its last observer leaves, not before', async () => {
  const one = watch(plain, { name: 'a' });
  const two = watch(plain, { name: 'a' });
  await settle();
  await one.leave();
  await advance(1);
  expect(transport.get().signal.aborted).toBe(false);
  await two.leave();
  await advance(1);
  expect(transport.get().signal.aborted).toBe(true);
});

test('a card that is removed and added again keeps its request', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await one.leave();
  const two = watch(plain, { name: 'a' });
  await advance(1);
  await transport.get().respond('A');
  expect(two.state.data).toBe('A');
  expect(transport.sent).toHaveLength(1);
});

test('a batch is aborted when none of its items is needed', async () => {
  const view = { runs: ['r'] };
  const [one, two] = ['a', 'b'].map((tag) => watch(batched, { view, tag }));
  await settle();
  await one?.leave();
  await advance(1);
  expect(transport.get().signal.aborted).toBe(false);
  await two?.leave();
  await advance(1);
  expect(transport.get().signal.aborted).toBe(true);
  // The queue continues.
  watch(batched, { view, tag: 'c' });
  await settle();
  expect(tagsOf()).toEqual(['c']);
});

test('another request aborts the one before and keeps its data meanwhile', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await transport.get().respond('A');
  await one.set({ name: 'b' });
  expect(one.state).toMatchObject({ data: 'A', isStale: true, status: 'loading' });
  await one.set({ name: 'c' });
  await advance(1);
  expect(transport.get(1).signal.aborted).toBe(true);
  await transport.get(2).respond('C');
  expect(one.state).toMatchObject({ data: 'C', isStale: false, status: 'ready' });
});

test('data of the request before is dropped if it must not be kept', async () => {
  const one = watch(plain, { name: 'a' }, { keepPrevious: false });
  await settle();
  await transport.get().respond('A');
  await one.set({ name: 'b' });
  expect(one.state).toMatchObject({ data: undefined, status: 'loading' });
  await one.set(null);
  expect(one.state).toMatchObject({ data: undefined, status: 'idle' });
});

test('a slider shows intermediate results and skips what it passed meanwhile', async () => {
  const slider = definePluginQuery<Named, Named, string>('GET demo/slow', {
    scope: 'log',
    completes: () => true,
    batch: oneAtATime,
  });
  const one = watch(slider, { name: 'a' });
  await settle();
  await one.set({ name: 'b' });
  await one.set({ name: 'c' });
  await advance(1);
  expect(transport.get(0).signal.aborted).toBe(false);
  await transport.get(0).respond('A');
  expect(one.state).toMatchObject({ data: 'A', isStale: true });
  expect(transport.sent.map(({ path }) => path)).toEqual([
    'api/v1/demo/slow?name=a',
    'api/v1/demo/slow?name=c',
  ]);
  await transport.get(1).respond('C');
  expect(one.state).toMatchObject({ data: 'C', isStale: false });
});

test('a debounced request waits for the last change, unless it is cached', async () => {
  const one = watch(immutable, { name: 'a' }, { debounceMs: 100 });
  await advance(60);
  await one.set({ name: 'b' });
  await advance(60);
  expect(transport.sent).toHaveLength(0);
  expect(one.state.status).toBe('loading');
  await advance(60);
  expect(transport.get().path).toBe('api/v1/demo/fixed?name=b');
  await transport.get().respond('B');
  await one.set({ name: 'c' });
  await one.set({ name: 'b' });
  expect(one.state).toMatchObject({ data: 'B', status: 'ready', isStale: false });
});

test('nothing is sent after dispose', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  cache.dispose();
  expect(transport.get().signal.aborted).toBe(true);
  await one.set({ name: 'b' });
  cache.revisions.markLog();
  await advance(60_000);
  expect(transport.sent).toHaveLength(1);
});

// ---- Revisions

test('stale data stays until a refresh replaces it', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await transport.get().respond('A');
  cache.revisions.markRuns(['r']);
  await advance(1000);
  expect(one.state).toMatchObject({ data: 'A', status: 'refreshing' });
  await transport.get().respond('B');
  expect(one.state).toMatchObject({ data: 'B', status: 'ready' });
  await advance(60_000);
  expect(transport.sent).toHaveLength(2);
});

test('only changes of the runs in question matter', async () => {
  watch(batched, { view: { runs: ['r'] }, tag: 'a' });
  await settle();
  await transport.get().respond({ a: '1' });
  cache.revisions.markRuns(['other']);
  await advance(5000);
  expect(transport.sent).toHaveLength(1);
  cache.revisions.markRuns(['r']);
  await advance(5000);
  expect(transport.sent).toHaveLength(2);
});

test('what changes while a request is in flight is fetched again', async () => {
  watch(plain, { name: 'a' });
  await settle();
  cache.revisions.markRuns(['r']);
  await transport.get().respond('A');
  await advance(1000);
  expect(transport.sent).toHaveLength(2);
});

test('immutable data is never refreshed, events refresh only their own', async () => {
  const notes = definePluginQuery<Named, Named, string>('GET demo/notes', {
    scope: { event: 'notes' },
  });
  watch(immutable, { name: 'a' });
  watch(notes, { name: 'a' });
  await settle();
  for (const request of transport.sent) await request.respond('A');
  cache.revisions.markRuns(['r']);
  await advance(5000);
  expect(transport.sent).toHaveLength(2);
  cache.revisions.markEvent('notes');
  await settle();
  expect(transport.sent.map(({ path }) => path).slice(2)).toEqual(['api/v1/demo/notes?name=a']);
  await transport.get().respond('B');
  cache.revisions.markLog();
  await advance(5000);
  expect(transport.sent.map(({ path }) => path).slice(3)).toEqual(['api/v1/demo/notes?name=a']);
});

test('a change of all runs does not concern what events report', async () => {
  const scope = { event: 'notes' };
  const notes = definePluginQuery<Named, Named, string>('GET demo/notes', { scope });
  watch(plain, { name: 'a' });
  watch(notes, { name: 'a' });
  await settle();
  for (const request of transport.sent) await request.respond('A');
  cache.revisions.markRuns(null);
  await advance(5000);
  expect(transport.sent.map(({ path }) => path).slice(2)).toEqual([transport.get(0).path]);
});

test('the pause between refreshes grows with the duration of requests', async () => {
  watch(plain, { name: 'a' });
  await settle();
  await advance(600);
  await transport.get().respond('A');
  cache.revisions.markRuns(['r']);
  await advance(2900);
  expect(transport.sent).toHaveLength(1);
  await advance(200);
  expect(transport.sent).toHaveLength(2);
});

test('a request for something new does not wait for the pause', async () => {
  const view = { runs: ['r'] };
  watch(batched, { view, tag: 'a' });
  await settle();
  await advance(600);
  await transport.get().respond({ a: '1' });
  cache.revisions.markRuns(['r']);
  watch(batched, { view, tag: 'b' });
  await settle();
  expect(tagsOf()).toEqual(['b']);
});

test('every entry gets its refresh although the log changes all the time', async () => {
  const view = { runs: ['r'] };
  const tags = ['a', 'b', 'c', 'd', 'e'];
  for (const tag of tags) watch(batched, { view, tag });
  const respond = (): Promise<void> =>
    transport.get().respond(Object.fromEntries(tags.map((tag) => [tag, 'x'])));
  await settle();
  await respond();
  await respond();
  cache.revisions.markRuns(['r']);
  await advance(250);
  expect(tagsOf()).toEqual(['a', 'b', 'c']);
  cache.revisions.markRuns(['r']);
  await respond();
  // The second half of the same wave, although the first half is stale again.
  expect(tagsOf()).toEqual(['d', 'e']);
  await respond();
  const sent = transport.sent.length;
  await advance(250);
  expect(tagsOf(sent)).toEqual(['a', 'b', 'c']);
});

test('without observers nothing is refreshed', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await transport.get().respond('A');
  await one.leave();
  cache.revisions.markLog();
  await advance(60_000);
  expect(transport.sent).toHaveLength(1);
  // Stale data is shown at once and replaced.
  const two = watch(plain, { name: 'a' });
  expect(two.state.data).toBe('A');
  await settle();
  expect(transport.sent).toHaveLength(2);
});

test('while paused, only new data is fetched', async () => {
  watch(plain, { name: 'a' });
  await settle();
  await transport.get().respond('A');
  cache.setPaused(true);
  cache.revisions.markRuns(['r']);
  await advance(60_000);
  expect(transport.sent).toHaveLength(1);
  watch(plain, { name: 'b' });
  await settle();
  expect(transport.get().path).toContain('name=b');
  await transport.get().respond('B');
  cache.setPaused(false);
  await advance(1000);
  expect(transport.sent).toHaveLength(3);
});

test('incremental responses are merged', async () => {
  interface Rows {
    readonly revision: number;
    readonly rows: readonly string[];
  }
  const rows = definePluginQuery<{ since?: number }, object, Rows>('GET demo/rows', {
    scope: 'log',
    update: {
      request: (request, { revision }) => ({ ...request, since: revision }),
      merge: (data, item) => ({ ...item, rows: [...data.rows, ...item.rows] }),
    },
  });
  const one = watch(rows, {});
  await settle();
  await transport.get().respond({ revision: 7, rows: ['a'] });
  cache.revisions.markLog();
  await advance(1000);
  expect(transport.get().path).toBe('api/v1/demo/rows?since=7');
  await transport.get().respond({ revision: 8, rows: ['b'] });
  expect(one.state.data).toEqual({ revision: 8, rows: ['a', 'b'] });
});

test('polling ends with the last response', async () => {
  const job = definePluginQuery<Named, Named, number>('GET demo/job', {
    scope: 'immutable',
    poll: (progress) => (progress < 1 ? 150 : null),
  });
  const one = watch(job, { name: 'j' });
  await settle();
  await transport.get().respond(0.5);
  await advance(149);
  expect(transport.sent).toHaveLength(1);
  await advance(1);
  await transport.get().respond(1);
  expect(one.state.data).toBe(1);
  await advance(60_000);
  expect(transport.sent).toHaveLength(2);
});

test('polling continues after a lost connection and in a new observer', async () => {
  const job = definePluginQuery<Named, Named, number>('GET demo/job', {
    scope: 'immutable',
    poll: (progress) => (progress < 1 ? 150 : null),
  });
  const one = watch(job, { name: 'j' });
  await settle();
  await transport.get().respond(0.2);
  await advance(150);
  await transport.get().fail(new NetworkError());
  await advance(2000);
  expect(transport.sent).toHaveLength(3);
  await transport.get().respond(0.4);
  await advance(150);
  expect(transport.sent).toHaveLength(4);
  await one.leave();
  await advance(1000);
  expect(transport.get().signal.aborted).toBe(true);
  const two = watch(job, { name: 'j' });
  await settle();
  expect(two.state.data).toBe(0.4);
  await transport.get().respond(1);
  expect(two.state.data).toBe(1);
});

test('polling ends with an error', async () => {
  const job = definePluginQuery<Named, Named, number>('GET demo/job', {
    scope: 'immutable',
    poll: () => 150,
  });
  const one = watch(job, { name: 'j' });
  await settle();
  await transport.get().respond(0.2);
  await advance(150);
  await transport.get().fail(new ServerError({ message: 'unknown', hint: '' }, 404));
  expect(one.state.error?.problem.message).toBe('unknown');
  await advance(10_000);
  expect(transport.sent).toHaveLength(2);
});

// ---- Errors

test('while the server is unreachable one request at a time tries again', async () => {
  const one = watch(plain, { name: 'a' });
  const two = watch(plain, { name: 'b' });
  await settle();
  await transport.get(0).fail(new NetworkError());
  await transport.get(1).fail(new NetworkError());
  expect(one.state).toMatchObject({ status: 'error', error: { message: 'Server unreachable' } });
  const late = watch(plain, { name: 'c' });
  await settle();
  expect(late.state.error).toBeInstanceOf(NetworkError);
  expect(transport.sent).toHaveLength(2);
  for (const pause of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    const sent = transport.sent.length;
    await advance(pause - 1);
    expect(transport.sent).toHaveLength(sent);
    await advance(1);
    expect(transport.sent).toHaveLength(sent + 1);
    await transport.get().fail(new NetworkError());
  }
  await advance(30_000);
  await transport.get().respond('A');
  for (const request of transport.sent.slice(-2)) await request.respond('B');
  expect([one, two, late].map(({ state }) => [state.data, state.error])).toEqual([
    ['A', null],
    ['B', null],
    ['B', null],
  ]);
});

test('a restored connection is used at once', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await transport.get().fail(new NetworkError());
  cache.reconnect();
  await settle();
  await transport.get().respond('A');
  expect(one.state).toMatchObject({ data: 'A', error: null });
});

test('fetch tries again although the connection was lost', async () => {
  const failed = cache.fetch(immutable, { name: 'a' });
  await settle();
  await Promise.all([
    expect(failed).rejects.toBeInstanceOf(NetworkError),
    transport.get().fail(new NetworkError()),
  ]);
  const second = cache.fetch(immutable, { name: 'a' });
  await settle();
  expect(transport.sent).toHaveLength(2);
  await transport.get().respond('A');
  await expect(second).resolves.toBe('A');
});

test('data stays when the server becomes unreachable', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await transport.get().respond('A');
  cache.revisions.markRuns(['r']);
  await advance(1000);
  await transport.get().fail(new NetworkError());
  expect(one.state).toMatchObject({ data: 'A', status: 'ready' });
  expect(one.state.error).toBeInstanceOf(NetworkError);
});

test('requests to a busy server are retried three times, after the requested pause', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await transport.get().fail(refusal(429, 3));
  expect(one.state).toMatchObject({ status: 'loading', error: null });
  await advance(2999);
  expect(transport.sent).toHaveLength(1);
  await advance(1);
  for (const pause of [2000, 4000, 60_000]) {
    await transport.get().fail(refusal(503));
    await advance(pause);
  }
  expect(transport.sent).toHaveLength(4);
  expect(one.state).toMatchObject({ status: 'error', error: { status: 503 } });
});

test('a server error is retried once, a rejected request is not', async () => {
  const failing = watch(plain, { name: 'a' });
  const refused = watch(immutable, { name: 'b' });
  await settle();
  await transport.get(0).fail(refusal(500));
  await transport.get(1).fail(refusal(400));
  expect(refused.state.status).toBe('error');
  await advance(2000);
  await transport.get().fail(refusal(500));
  expect(failing.state.status).toBe('error');
  await advance(60_000);
  expect(transport.sent).toHaveLength(3);
});

test('errors are not cached: a revision, retry() or a new observer fetch again', async () => {
  const one = watch(plain, { name: 'a' });
  await settle();
  await transport.get().fail(refusal(400));
  cache.revisions.markRuns(['r']);
  await advance(1000);
  await transport.get().fail(refusal(400));
  await one.retry();
  expect(one.state).toMatchObject({ status: 'loading', error: null });
  await transport.get().fail(refusal(400));
  await one.leave();
  const two = watch(plain, { name: 'a' });
  await settle();
  await transport.get().respond('A');
  expect(two.state).toMatchObject({ data: 'A', error: null });
  expect(transport.sent).toHaveLength(4);
});

test('a programming error is reported and the queue continues', async () => {
  const broken = definePluginQuery<Named, Named, Named, Named, string>('GET demo/broken', {
    scope: 'log',
    batch: oneAtATime,
    select: ({ name }) => name.toUpperCase(),
  });
  const one = watch(broken, { name: 'a' });
  const two = watch(broken, { name: 'b' });
  await settle();
  await transport.get().respond({});
  expect(bugs).toEqual([expect.any(TypeError)]);
  expect(one.state.bug).toBeInstanceOf(TypeError);
  expect(one.state.error).toBeNull();
  await transport.get().respond({ name: 'b' });
  expect(two.state).toMatchObject({ data: 'B', error: null });
});

test('exceptions in join, split and the transport fail their batch only', async () => {
  const view = { runs: ['r'] };
  const one = watch(batched, { view, tag: 'a' });
  await settle();
  await transport.get().respond(null);
  expect(one.state.bug).toBeInstanceOf(TypeError);
  const two = watch(batched, { view, tag: 'b' });
  await settle();
  await transport.get().fail(new RangeError('decoding'));
  expect(two.state.bug).toBeInstanceOf(RangeError);
  expect(bugs).toHaveLength(2);
  await expect(cache.fetch(batched, { view, tag: 'b' })).rejects.toBeInstanceOf(RangeError);
});

// ---- Limits

test('the number of requests is limited, with one slot for urgent ones', async () => {
  for (const name of 'abcdefg') watch(plain, { name });
  watch(plain, { name: 'low' }, { priority: 'low' });
  await settle();
  expect(transport.sent).toHaveLength(5);
  watch(plain, { name: 'high' }, { priority: 'high' });
  await settle();
  expect(transport.get().path).toContain('name=high');
  for (let at = 0; at < 8; at++) await transport.get(at).respond('x');
  expect(transport.sent.map(({ path }) => path).at(-1)).toContain('name=low');
});

test('unused entries are evicted by cost, least recently used first', async () => {
  const large = definePluginQuery<Named, Named, string>('GET demo/large', {
    scope: 'immutable',
    cost: (text) => text.length,
    maxCost: 10,
  });
  const load = async (name: string, text: string): Promise<void> => {
    const result = cache.fetch(large, { name });
    await settle();
    await transport.get().respond(text);
    await result;
  };
  const used = watch(large, { name: 'used' });
  await settle();
  await transport.get().respond('123456789');
  await load('a', '1');
  await load('b', '1');
  expect(['used', 'a', 'b'].map((name) => cache.peek(large, { name }))).toEqual([
    '123456789',
    undefined,
    '1',
  ]);
  await used.leave();
  await load('c', '12');
  expect(cache.peek(large, { name: 'used' })).toBeUndefined();
});

test('an entry that exceeds the limit does not evict the others', async () => {
  const large = definePluginQuery<Named, Named, string>('GET demo/large', {
    scope: 'immutable',
    cost: (text) => text.length,
    maxCost: 10,
  });
  for (const [name, text] of Object.entries({ a: '1234', giant: '12345678901' })) {
    const result = cache.fetch(large, { name });
    await settle();
    await transport.get().respond(text);
    await result;
  }
  expect(cache.peek(large, { name: 'a' })).toBe('1234');
  expect(cache.peek(large, { name: 'giant' })).toBeUndefined();
});

// ---- Changes

test('data can be set, and a failed mutation is not repeated', async () => {
  const notes = defineQuery('GET tags', { scope: 'log' });
  const one = watch(notes, {});
  await settle();
  await transport.get().respond('before');
  cache.set(notes, {}, 'optimistic' as never);
  expect(one.state.data).toBe('optimistic');
  const change = cache.mutate('POST tags', { runs: [] });
  await Promise.all([
    expect(change).rejects.toBeInstanceOf(NetworkError),
    transport.get().fail(new NetworkError()),
  ]);
  await advance(60_000);
  expect(transport.sent).toHaveLength(2);
});

test('invalidated entries are fetched again if they are in use', async () => {
  const one = watch(immutable, { name: 'a' });
  await settle();
  await transport.get().respond('A');
  cache.invalidate(immutable);
  await settle();
  expect(one.state.data).toBe('A');
  await transport.get().respond('B');
  expect(one.state.data).toBe('B');
});

test('prefetched data is there when it is needed, and failures are silent', async () => {
  cache.prefetch(immutable, { name: 'a' });
  await settle();
  const one = watch(immutable, { name: 'a' });
  await transport.get().respond('A');
  expect(one.state.data).toBe('A');
  expect(transport.sent).toHaveLength(1);
  cache.prefetch(immutable, { name: 'b' });
  await settle();
  await transport.get().fail(refusal(400));
});

test('the transport decides which routes there are', () => {
  expect(cache.supports('GET demo/value')).toBe(true);
  expect(cache.supports('POST demo/value')).toBe(false);
});

test('exceptions in callbacks of a definition do not stop its queue', async () => {
  const fragile = definePluginQuery<Named, Named, string>('GET demo/fragile', {
    scope: 'log',
    batch: oneAtATime,
    cost: (text) => text.length,
    select: (text) => {
      if (text === 'bad') throw new RangeError('select');
      return text;
    },
  });
  const [one, two, three] = ['a', 'b', 'c'].map((name) => watch(fragile, { name }));
  await settle();
  await transport.get().respond(null);
  await transport.get().respond('bad');
  await transport.get().respond('C');
  expect(one?.state.bug).toBeInstanceOf(TypeError);
  expect(two?.state.bug).toBeInstanceOf(RangeError);
  expect(three?.state.data).toBe('C');
  expect(bugs).toHaveLength(2);
});

// ---- Many observers

/** A small generator of pseudo-random numbers, so that failures can be repeated. */
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'every observer gets its data in the end (seed %i)',
  async (seed) => {
    const random = makeRandom(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    const watchers = new Map<number, Watched<Named, string>>();
    const answered = new Set<unknown>();
    const respondToSome = async (share: number): Promise<void> => {
      for (const request of [...transport.sent]) {
        if (answered.has(request) || request.signal.aborted || random() > share) continue;
        answered.add(request);
        if (share < 1 && random() < 0.1) await request.fail(new NetworkError());
        else await request.respond(request.path);
      }
    };
    for (let turn = 0; turn < 150; turn++) {
      const id = pick(8);
      const known = watchers.get(id);
      const action = pick(4);
      if (!known) watchers.set(id, watch(plain, { name: String(pick(12)) }));
      else if (action === 0) {
        await known.leave();
        watchers.delete(id);
      } else if (action === 1) await known.set({ name: String(pick(12)) });
      else if (action === 2) cache.revisions.markRuns(['r']);
      if (pick(3) === 0) await advance(pick(3));
      if (pick(3) === 0) await respondToSome(0.5);
    }
    for (let turn = 0; turn < 40; turn++) {
      await advance(5000);
      await respondToSome(1);
    }
    const states = [...watchers.values()].map(({ state }) => [state.status, state.isStale]);
    expect(states).toEqual(states.map(() => ['ready', false]));
  },
);
