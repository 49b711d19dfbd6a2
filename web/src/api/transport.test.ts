import { expect, test } from 'vitest';

import {
  getBackoffMs,
  NetworkError,
  QueryError,
  ServerError,
  toProblem,
  UnexpectedResponseError,
} from './errors';
import { encodeQuery, HttpTransport, makeWireRequest } from './transport';

const signal = new AbortController().signal;
const json = { 'content-type': 'application/json' };

function send(response: Response | Error): Promise<unknown> {
  const transport = new HttpTransport(() =>
    response instanceof Error ? Promise.reject(response) : Promise.resolve(response),
  );
  return transport.send(makeWireRequest('GET runs', {}), signal);
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
  const transport = new HttpTransport((path, init) => {
    seen.push([path, init]);
    return Promise.resolve(new Response('a,b', { headers: { 'content-type': 'text/csv' } }));
  });
  const wire = makeWireRequest('POST scalars/table', { tags: ['loss'] }, true);
  const file = await transport.send(wire, signal);
  expect(await (file as Blob).text()).toBe('a,b');
  expect(seen[0]?.[0]).toBe('api/v1/scalars/table');
  expect(seen[0]?.[1]).toMatchObject({ method: 'POST', body: '{"tags":["loss"]}' });
});

test('errors of the server have a message, a hint and a retry time', async () => {
  const body = JSON.stringify({ error: { message: 'Too many requests.', hint: 'Wait.' } });
  const error = await send(
    new Response(body, { status: 429, headers: { ...json, 'retry-after': '2' } }),
  ).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ServerError);
  expect(error).toMatchObject({
    problem: { message: 'Too many requests.', hint: 'Wait.' },
    status: 429,
    retryAfterS: 2,
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
