import { expect, test } from 'vitest';

import { NetworkError } from '../../api/errors';
import { LatestRequest } from './image-loader.svelte';

/** Requests are answered by calling `respond`. */
function makeLatestRequest() {
  const pending: ((succeeds: boolean) => void)[] = [];
  const requests: string[] = [];
  const latest = new LatestRequest<string, string>((request) => {
    requests.push(request);
    return new Promise((resolve, reject) =>
      pending.push((succeeds) =>
        succeeds ? resolve(request.toUpperCase()) : reject(new NetworkError()),
      ),
    );
  });
  const respond = async (succeeds = true): Promise<void> => {
    pending.shift()?.(succeeds);
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { latest, requests, respond };
}

test('one request runs at a time, followed by the last one made meanwhile', async () => {
  const { latest, requests, respond } = makeLatestRequest();
  for (const request of ['a', 'b', 'c', 'd']) latest.request(request);
  await respond();
  expect(latest.data).toBe('A');
  await respond();
  expect(latest.data).toBe('D');
  expect(requests).toEqual(['a', 'd']);
});

test('data that was set is not replaced by an earlier request', async () => {
  const { latest, respond } = makeLatestRequest();
  latest.request('a');
  latest.set('READY');
  await respond();
  expect(latest.data).toBe('READY');
});

test('an error keeps the previous data', async () => {
  const { latest, respond } = makeLatestRequest();
  latest.request('a');
  await respond();
  latest.request('b');
  await respond(false);
  expect(latest.data).toBe('A');
  expect(latest.error?.message).toContain('unreachable');
  latest.request('c');
  await respond();
  expect(latest.error).toBeNull();
});
