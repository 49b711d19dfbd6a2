import { afterEach, describe, expect, test, vi } from 'vitest';

import { decodeColumns, parseJsonNumber, parseTimestamp } from './columns';
import { encodeQuery, httpTransport, makeWireRequest } from './transport';
import {
  getBackoffMs,
  NetworkError,
  QueryError,
  ServerError,
  toProblem,
  UnexpectedResponseError,
} from './errors';
import { prefetch } from './prefetch';

const signal = new AbortController().signal;
const json = { 'content-type': 'application/json' };

afterEach(() => vi.unstubAllGlobals());

function send(response: Response | Error): Promise<unknown> {
  vi.stubGlobal('fetch', () =>
    response instanceof Error ? Promise.reject(response) : Promise.resolve(response),
  );
  return httpTransport.send(makeWireRequest('GET runs', {}), signal);
}

test('JSON and columns are decoded', async () => {
  expect(await send(new Response('{"runs": []}', { headers: json }))).toEqual({ runs: [] });
  const columns = new Response(
    new Blob(['TLC1', Uint32Array.of(32), '{"x":{"$column":["f8",0,1]}}    ', Float64Array.of(7)]),
    { headers: { 'content-type': 'application/vnd.tracklight.columns' } },
  );
  expect(await send(columns)).toEqual({ x: Float64Array.of(7) });
});

test('requests are sent as JSON, files unchanged', async () => {
  const seen: [string, RequestInit][] = [];
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    seen.push([path, init]);
    return Promise.resolve(new Response('a,b', { headers: { 'content-type': 'text/csv' } }));
  });
  const wire = makeWireRequest('POST scalars/table', { tags: ['loss'] }, true);
  const file = await httpTransport.send(wire, signal);
  expect(await (file as Blob).text()).toBe('a,b');
  expect(seen[0]?.[0]).toBe('api/v1/scalars/table');
  expect(seen[0]?.[1]).toMatchObject({ method: 'POST', body: '{"tags":["loss"]}' });
});

test('errors of the server have a message, a hint, a code and a retry time', async () => {
  const problem = { message: 'Too many requests.', hint: 'Wait.', code: 'server.too_many' };
  const body = JSON.stringify({ error: problem });
  const error = await send(
    new Response(body, { status: 429, headers: { ...json, 'retry-after': '2' } }),
  ).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ServerError);
  expect(error).toMatchObject({
    problem: { message: 'Too many requests.', hint: 'Wait.' },
    status: 429,
    retryAfterS: 2,
    code: 'server.too_many',
  });
});

test('an HTML page of a proxy is an unexpected response', async () => {
  const html = { 'content-type': 'text/html' };
  for (const status of [200, 502]) {
    const page = send(new Response('<h1>Log in</h1>', { status, headers: html }));
    await expect(page).rejects.toBeInstanceOf(UnexpectedResponseError);
  }
});

test('only a failed fetch and a broken body are network errors', async () => {
  await expect(send(new TypeError('Failed to fetch'))).rejects.toBeInstanceOf(NetworkError);
  const broken = new ReadableStream({ start: (body) => body.error(new TypeError('cut off')) });
  await expect(send(new Response(broken, { headers: json }))).rejects.toBeInstanceOf(NetworkError);
  // A programming error.
  const malformed = send(new Response('{', { headers: json }));
  await expect(malformed).rejects.toBeInstanceOf(SyntaxError);
  await expect(malformed).rejects.not.toBeInstanceOf(QueryError);
});

test('a canceled request rejects with an AbortError', async () => {
  const aborted = new DOMException('aborted', 'AbortError');
  await expect(send(aborted)).rejects.toBe(aborted);
});

test('programming errors have no message for users', () => {
  expect(toProblem(new NetworkError()).message).toBe('Server unreachable');
  expect(() => toProblem(new TypeError('x is undefined'))).toThrow(TypeError);
});

test('the pause between attempts grows to half a minute', () => {
  expect([1, 2, 3, 4, 5, 6, 99].map((failures) => getBackoffMs(failures, 0.5) / 1000)).toEqual([
    1, 2, 4, 8, 16, 30, 30,
  ]);
  expect(getBackoffMs(1, 0)).toBeCloseTo(800);
  expect(getBackoffMs(1, 1)).toBeCloseTo(1200);
});

test('query strings repeat lists and omit missing fields', () => {
  expect(
    encodeQuery({ job: 'a b', axes: [0, 2], known_frame: null, all: false, not: undefined }),
  ).toBe('job=a%20b&axes=0&axes=2&all=false');
});

test('placeholders are replaced, and methods with a body send one', () => {
  expect(
    makeWireRequest('GET blobs/{fingerprint}', { fingerprint: 'a/b', run: 'r' }),
  ).toMatchObject({
    method: 'GET',
    path: 'api/v1/blobs/a%2Fb?run=r',
  });
  expect(makeWireRequest('DELETE projector/project', { job: 'j' }).path).toBe(
    'api/v1/projector/project?job=j',
  );
  expect(makeWireRequest('PUT alerts/rules', [{ id: 'a' }]).body).toEqual([{ id: 'a' }]);
  const body = new Blob(['data']);
  expect(makeWireRequest('POST graphs/upload', { name: 'm.onnx', body })).toMatchObject({
    method: 'POST',
    path: 'api/v1/graphs/upload?name=m.onnx',
    body,
  });
});

describe('decoding', () => {
  /** Encode a response: header, padding and body. */
  function lay(header: unknown, body: ArrayBuffer): ArrayBuffer {
    const text = new TextEncoder().encode(JSON.stringify(header));
    const length = Math.ceil(text.length / 8) * 8;
    const whole = new Uint8Array(8 + length + body.byteLength).fill(0x20);
    whole.set(new TextEncoder().encode('TLC1'));
    new DataView(whole.buffer).setUint32(4, length, true);
    whole.set(text, 8);
    whole.set(new Uint8Array(body), 8 + length);
    return whole.buffer;
  }

  const column = (dtype: string, offset: number, length: number): object => ({
    $column: [dtype, offset, length],
  });

  test('references in the header become columns', () => {
    const body = new Float64Array([0.5, NaN, -Infinity]).buffer;
    const answer = decodeColumns(
      lay({ charts: [{ id: 'ä', y: column('f8', 0, 3), x: null }], n: 2 }, body),
    );
    expect(answer).toEqual({
      charts: [{ id: 'ä', y: new Float64Array([0.5, NaN, -Infinity]), x: null }],
      n: 2,
    });
  });

  test('all types are decoded', () => {
    const body = new ArrayBuffer(40);
    new Float32Array(body, 0, 1)[0] = 1.5;
    new Int32Array(body, 8, 2).set([-1, 7]);
    new BigInt64Array(body, 16, 2).set([-5n, 2n ** 40n]);
    new Uint8Array(body, 32, 3).set([1, 0, 255]);
    const header = [
      column('f4', 0, 1),
      column('i4', 8, 2),
      column('i8', 16, 2),
      column('u1', 32, 3),
      column('f8', 40, 0),
    ];
    expect(decodeColumns(lay(header, body))).toEqual([
      new Float32Array([1.5]),
      new Int32Array([-1, 7]),
      new Float64Array([-5, 2 ** 40]),
      new Uint8Array([1, 0, 255]),
      new Float64Array(),
    ]);
  });

  test('columns are views of the buffer', () => {
    const buffer = lay({ y: column('f8', 0, 1) }, new Float64Array([3]).buffer);
    expect((decodeColumns(buffer) as { y: Float64Array }).y.buffer).toBe(buffer);
  });

  test('values that only resemble a reference are kept', () => {
    const header = { $column: 'name', more: { $column: [1], beside: 2 } };
    expect(decodeColumns(lay(header, new ArrayBuffer(0)))).toEqual(header);
  });

  test('other bytes are rejected', () => {
    expect(() => decodeColumns(new ArrayBuffer(4))).toThrow();
    expect(() => decodeColumns(new TextEncoder().encode('{"charts": []}').buffer)).toThrow();
    expect(() => decodeColumns(lay([column('f2', 0, 1)], new ArrayBuffer(8)))).toThrow('f2');
    expect(() => decodeColumns(lay([column('f8', 0, 9)], new ArrayBuffer(8)))).toThrow();
  });

  test('non-finite numbers are parsed', () => {
    expect(parseJsonNumber('-Infinity')).toBe(-Infinity);
    expect(parseJsonNumber('NaN')).toBeNaN();
    expect(parseJsonNumber(undefined)).toBeNull();
  });

  test('invalid timestamps are null', () => {
    expect(parseTimestamp(1_700_000_000)?.getFullYear()).toBe(2023);
    for (const nothing of [null, 'NaN', 'Infinity', 1e300] as const) {
      expect(parseTimestamp(nothing)).toBeNull();
    }
  });
});

describe('prefetch', () => {
  const { signal } = new AbortController();

  function respond(value: unknown): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return Promise.resolve(new Response(JSON.stringify(value), { headers }));
  }

  test('the first request takes a prefetched response, the next one is sent', async () => {
    vi.stubGlobal('fetch', () => respond('early'));
    prefetch('api/v1/runs');
    vi.stubGlobal('fetch', () => respond('late'));
    const request = makeWireRequest('GET runs', {});
    expect(await httpTransport.send(request, signal)).toBe('early');
    expect(await httpTransport.send(request, signal)).toBe('late');
  });

  test('other methods do not take it', async () => {
    vi.stubGlobal('fetch', () => respond('early'));
    prefetch('api/v1/tags');
    vi.stubGlobal('fetch', () => respond('sent'));
    const request = makeWireRequest('POST tags', { runs: [] });
    expect(await httpTransport.send(request, signal)).toBe('sent');
  });
});
