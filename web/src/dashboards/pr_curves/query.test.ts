import { expect, test } from 'vitest';

import { QueryCache } from '../../api/query-cache';
import { FakeTransport, settle } from '../../api/query-test-tools';
import { makeTestCurve } from './pr-curve-fixtures';
import { curveQuery, type CurveRequest } from './query';

test('curves of one step share a request, and each finds its own', async () => {
  const transport = new FakeTransport();
  const cache = new QueryCache({ transport });
  const rows = ['a', 'b'].map((run) => makeTestCurve(run).row);
  const makeRequest = (at: number, step: number | null): CurveRequest => {
    const { run = '', tag = '', index = 0, mark = 0 } = rows[at] ?? {};
    return { value: { run, tag, index, mark }, step };
  };
  const last = [0, 1].map((at) => cache.fetch(curveQuery, makeRequest(at, null)));
  const earlier = cache.fetch(curveQuery, makeRequest(0, 10));
  await settle();
  expect(transport.get(0).body).toMatchObject({ runs: ['a', 'b'], step: null });
  await transport.get(0).respond({ curves: [...rows].reverse() });
  expect(await Promise.all(last)).toEqual(rows);
  expect(transport.get(1).body).toMatchObject({ runs: ['a'], step: 10 });
  // The run has another curve by now.
  await transport.get(1).respond({ curves: [] });
  expect(await earlier).toBeNull();
  cache.dispose();
});
