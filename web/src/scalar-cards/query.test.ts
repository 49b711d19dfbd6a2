import { expect, test } from 'vitest';

import { QueryCache } from '../api/query-cache';
import { FakeTransport, settle } from '../api/query-test-tools';
import type { ChartsView } from '../api/scalar-schemas';
import type { ChartsRequest } from '../api/schemas';
import { chartQuery, makeChartRequest, nearestPointsQuery, needsOtherPoints } from './query';

const VIEW: ChartsView = {
  runs: null,
  x: 'step',
  smoothing: null,
  overwritten: false,
  baseline: null,
  groups: null,
  center: 'mean',
  band: 'std',
  min_runs: 1,
};

function open() {
  const transport = new FakeTransport();
  const cache = new QueryCache({ transport });
  const fetch = (tag: string, width = 340, runs = 1) =>
    cache.fetch(chartQuery, makeChartRequest(VIEW, runs, [tag], width, null));
  const sent = (at: number): string => {
    const { charts, width } = transport.get(at).body as ChartsRequest;
    return `${charts.map(({ tags }) => tags.join()).join()} ${width}`;
  };
  const respond = async (at: number): Promise<void> => {
    const { charts } = transport.get(at).body as ChartsRequest;
    await transport.get(at).respond({ charts: charts.map(({ id }) => ({ id, error: null })) });
    await settle();
  };
  return { transport, cache, fetch, sent, respond };
}

test('charts of about the same width share a request', async () => {
  const { cache, fetch, sent, respond } = open();
  void [fetch('a'), fetch('b', 301), fetch('c', 1000), fetch('a')];
  await settle();
  expect(sent(0)).toBe('a,b 400');
  await respond(0);
  expect(sent(1)).toBe('c 1000');
  await respond(1);
  cache.dispose();
});

test('the first request has few lines, later ones more', async () => {
  const { cache, fetch, sent, respond } = open();
  for (const tag of 'abcdef') void fetch(tag, 340, 20);
  await settle();
  expect(sent(0)).toBe('a,b 400');
  await respond(0);
  expect(sent(1)).toBe('c,d,e,f 400');
  await respond(1);
  cache.dispose();
});

test('a part is requested with a margin, and as many columns for what is visible', () => {
  const { width, chart } = makeChartRequest(VIEW, 1, ['a'], 400, [100, 200]);
  expect(width).toBe(600);
  expect(chart).toEqual({ tags: ['a'], start: 75, stop: 225 });
});

test('a response in flight is only useful for other smoothing', () => {
  const smoother = { ...VIEW, smoothing: { kind: 'ema', amount: 0.6 } } as const;
  expect(needsOtherPoints(VIEW, smoother)).toBe(false);
  expect(needsOtherPoints(VIEW, { ...VIEW, x: 'wall' })).toBe(true);
});

test('an error of one chart does not affect the others', async () => {
  const { transport, cache, fetch } = open();
  const [good, bad] = [fetch('a'), fetch('b')];
  await settle();
  const error = { message: 'The baseline has no "b".', hint: '' };
  await Promise.all([
    expect(good).resolves.toMatchObject({ id: '0' }),
    expect(bad).rejects.toMatchObject({ problem: error }),
    transport.get().respond({
      charts: [
        { id: '0', error: null },
        { id: '1', error },
      ],
    }),
  ]);
  cache.dispose();
});

test('tables of several tags share a request', async () => {
  const { transport, cache } = open();
  const view = { runs: null, x: 'step', smoothing: null, baseline: null, x_value: 7 };
  const rows = ['a', 'b'].map((tag) => cache.fetch(nearestPointsQuery, { view, tag }));
  await settle();
  expect(transport.get().body).toEqual({ ...view, tags: ['a', 'b'] });
  await transport.get().respond({ rows: [{ tag: 'b', step: 7 }] });
  expect(await Promise.all(rows)).toEqual([[], [{ tag: 'b', step: 7 }]]);
  cache.dispose();
});
