import { expect, test } from 'vitest';

import { QueryCache } from '../../api/query-cache';
import { FakeTransport, settle } from '../../api/query-test-tools';
import type { HistogramChartRow, HistogramsRequest } from '../../api/schemas';
import { histogramQuery, type HistogramRequest, type HistogramsView } from './query';

const VIEW: HistogramsView = {
  runs: ['a'],
  x: 'step',
  most: 51,
  bins: 30,
  percentiles: true,
  ignore_outliers: false,
};

const makeRow = (id: string): HistogramChartRow => ({
  ...{ id, error: null, runs: 1, grid: null, cut: false, series: [] },
});

test('only charts with the same number of runs and steps share a request', async () => {
  const transport = new FakeTransport();
  const cache = new QueryCache({ transport });
  const fetch = (tag: string, more: Partial<HistogramRequest['chart']>, maxRuns = 4) =>
    cache.fetch(histogramQuery, { view: VIEW, maxRuns, chart: { tag, ...more } });
  const all = [
    fetch('a', {}),
    fetch('b', {}),
    fetch('c', {}, 1),
    fetch('d', { start: 0, stop: 9 }),
  ];
  const sent: string[] = [];
  for (let at = 0; at < 3; at++) {
    await settle();
    const request = transport.get(at).body as HistogramsRequest;
    const tags = request.charts.map(({ tag }) => tag).join();
    sent.push(`${tags} ${request.most_runs} ${request.most}`);
    await transport.get(at).respond({ charts: request.charts.map(({ id }) => makeRow(id)) });
  }
  expect(sent).toEqual(['a,b 4 51', 'c 1 51', 'd 4 600']);
  expect((await Promise.all(all)).map(({ axis }) => axis)).toEqual(Array(4).fill('step'));
  cache.dispose();
});

test('an error of a chart is an error of its card', async () => {
  const transport = new FakeTransport();
  const cache = new QueryCache({ transport });
  const chart = cache.fetch(histogramQuery, { view: VIEW, maxRuns: 1, chart: { tag: 'gone' } });
  await settle();
  const error = { message: 'No tag "gone".', hint: '' };
  await Promise.all([
    expect(chart).rejects.toMatchObject({ problem: error }),
    transport.get().respond({ charts: [{ ...makeRow('0'), error }] }),
  ]);
  cache.dispose();
});
