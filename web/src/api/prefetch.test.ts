import { afterEach, expect, test, vi } from 'vitest';

import { prefetch } from './prefetch';
import { HttpTransport, makePathRequest } from './transport';

const { signal } = new AbortController();

function respond(value: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return Promise.resolve(new Response(JSON.stringify(value), { headers }));
}

afterEach(() => vi.unstubAllGlobals());

test('the first request takes a prefetched response, the next one is sent', async () => {
  vi.stubGlobal('fetch', () => respond('early'));
  prefetch('api/v1/runs');
  const transport = new HttpTransport(() => respond('late'));
  const request = makePathRequest('api/v1/runs');
  expect(await transport.send(request, signal)).toBe('early');
  expect(await transport.send(request, signal)).toBe('late');
});

test('other methods do not take it', async () => {
  vi.stubGlobal('fetch', () => respond('early'));
  prefetch('api/v1/tags');
  const transport = new HttpTransport(() => respond('sent'));
  const request = makePathRequest('api/v1/tags', { method: 'POST', body: {} });
  expect(await transport.send(request, signal)).toBe('sent');
});
