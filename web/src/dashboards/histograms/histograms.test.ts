import { describe, expect, test } from 'vitest';

import { QueryCache } from '../../api/query-cache';
import { FakeTransport, settle } from '../../api/query-test-tools';
import type {
  BucketsResponse,
  HistogramChartRow,
  HistogramSeriesRow,
  HistogramsRequest,
} from '../../api/schemas';
import {
  findBucketIndex,
  formatBucket,
  formatCaption,
  formatCaptionDetails,
  getCardHeight,
  getMaxRuns,
  makeBucketRow,
  makePercentileRows,
  makeTotalRows,
  summarizeIssues,
} from './histogram-chart-data';
import { makePythonSnippet, viewportsCodec } from './histograms-state.svelte';
import {
  getAxisValues,
  histogramQuery,
  type HistogramRequest,
  type HistogramsView,
  mergeBins,
} from './query';

function makeSeries(rest: Partial<HistogramSeriesRow> = {}): HistogramSeriesRow {
  const zeros = new Float64Array(2);
  return {
    run: 'a',
    tag: 'w',
    count: 1000,
    index: Int32Array.of(0, 9),
    fingerprint: Int32Array.of(1, 2),
    step: Float64Array.of(0, 900),
    wall_time: Float64Array.of(1e9, 1e9 + 60),
    x: Float64Array.of(0, 900),
    low: Float64Array.of(-1, -2),
    high: Float64Array.of(1, 2),
    bucket_sum: Float64Array.of(10, 200),
    num: Float64Array.of(NaN, NaN),
    nan: zeros,
    positive_infinity: zeros,
    negative_infinity: zeros,
    unbounded: zeros,
    has_nan: new Uint8Array(2),
    bins: Float32Array.of(4, 6, 50, 150),
    percentiles: Float64Array.from({ length: 18 }, (_, index) => index % 9),
    errors: [],
    ...rest,
  };
}

const BUCKETS: BucketsResponse = {
  step: 900,
  wall_time: 1e9,
  left: Float64Array.of(-2, 0, 1),
  right: Float64Array.of(0, 1, 2),
  counts: Float64Array.of(50, 100, 50),
  totals: {
    min: -2,
    max: 2,
    num: 200,
    sum: 100,
    sum_squares: 250,
    nan: 0,
    positive_infinity: 0,
    negative_infinity: 0,
  },
};

const makeChart = (...series: HistogramSeriesRow[]): HistogramChartRow => ({
  id: 'w',
  error: null,
  runs: series.length,
  grid: Float64Array.of(-2, 0, 2),
  is_clipped: false,
  series,
});

describe('captions', () => {
  test('the number of steps, and how many are shown', () => {
    expect(formatCaption(makeChart(makeSeries()), false)).toBe('1,000 steps, 2 shown');
    expect(
      formatCaption(makeChart(makeSeries({ count: 2 }), makeSeries({ count: 2 })), false),
    ).toBe('2 runs · all 2 steps');
    expect(formatCaption({ ...makeChart(makeSeries()), is_clipped: true }, true)).toBe(
      '2 of 1,000 steps in this export · outliers not shown',
    );
    expect(formatCaptionDetails(makeChart(makeSeries()), false)).toContain('Zoom in');
  });

  test('steps with NaN, infinities or unreadable values', () => {
    const invalid = makeSeries({
      nan: Float64Array.of(3, 0),
      has_nan: Uint8Array.of(0, 1),
      errors: [{ step: 7, message: { code: '', text: 'no histogram', args: {} } }],
    });
    expect(summarizeIssues([invalid, makeSeries()])).toMatchObject({
      nonFiniteSteps: 2,
      unreadableCount: 1,
    });
    expect(summarizeIssues([invalid]).description).toContain('Step 7: no histogram');
  });
});

describe('tooltip', () => {
  test('the logged bucket, its count and share', () => {
    const row = makeBucketRow(makeSeries(), 1, makeChart().grid, 0.5, BUCKETS);
    expect(row).toMatchObject({ name: '[0, 1)', value: '100', extra: '50.0%' });
    expect(makeBucketRow(makeSeries(), 1, makeChart().grid, 2, BUCKETS)?.name).toBe('[1, 2]');
    expect(makeBucketRow(makeSeries(), 1, makeChart().grid, 9, BUCKETS)?.value).toBe('no bucket');
  });

  test('the drawn bin until the bucket is loaded', () => {
    const row = makeBucketRow(makeSeries(), 1, makeChart().grid, 0.5, undefined);
    expect(row).toMatchObject({ name: '[0, 2)', value: '≈ 150', extra: '75.0%' });
    expect(makeBucketRow(makeSeries(), 1, makeChart().grid, null, undefined)).toBeNull();
  });

  test('a bucket without width is found near its value', () => {
    const same = {
      ...BUCKETS,
      left: Float64Array.of(3),
      right: Float64Array.of(3),
      counts: Float64Array.of(9),
    };
    expect(findBucketIndex(same, 3.02)).toBe(0);
    expect(formatBucket(3, 3, true)).toBe('exactly 3');
  });

  test('mean, standard deviation and non-finite values', () => {
    const invalid = makeSeries({ nan: Float64Array.of(0, 4), num: Float64Array.of(NaN, 300) });
    const rows = makeTotalRows(invalid, 1, BUCKETS);
    expect(rows.find(({ name }) => name === 'Mean ± std')).toMatchObject({
      value: '0.5',
      extra: '± 1',
    });
    expect(rows.find(({ name }) => name === 'NaN')?.value).toBe('4');
    expect(rows.find(({ name }) => name === 'Count reported by the writer')?.value).toBe('300');
  });

  test('percentiles, the largest first', () => {
    const rows = makePercentileRows(makeSeries(), 0);
    expect(rows.map(({ name }) => name)).toEqual([
      'Max',
      '93.32%',
      '84.13%',
      '69.15%',
      'Median',
      '30.85%',
      '15.87%',
      '6.68%',
      'Min',
    ]);
    expect(rows.map(({ value }) => value)).toEqual(['8', '7', '6', '5', '4', '3', '2', '1', '0']);
  });
});

test('an export has all axes, and bins can be merged', () => {
  expect([...getAxisValues(makeSeries(), 'relative')]).toEqual([0, 60]);
  expect([...getAxisValues(makeSeries(), 'step')]).toEqual([0, 900]);
  const { grid, merge } = mergeBins(Float64Array.of(0, 1, 2, 3, 4), 2);
  expect([...(grid ?? [])]).toEqual([0, 2, 4]);
  expect([...merge(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8))]).toEqual([3, 7, 11, 15]);
});

test('zoomed ranges are parsed as they were formatted', () => {
  const zooms = new Map([['a,b', { steps: [1, 2] as const, values: null }]]);
  expect(viewportsCodec.parse(viewportsCodec.format(zooms))).toEqual(zooms);
  expect(viewportsCodec.parse('a,2,1,,').size).toBe(0);
});

test('a card shows as many runs as are legible', () => {
  expect(getMaxRuns('offset', 340, 200)).toBe(6);
  expect(getMaxRuns('offset', 80, 60)).toBe(1);
  expect(getMaxRuns('together', 340, 200)).toBe(12);
  expect(getCardHeight(340, 8)).toBeGreaterThan(getCardHeight(340, 1));
});

test('Python code names the runs and the tag', () => {
  const code = makePythonSnippet({
    roots: [{ name: '', path: '/logs' }],
    runs: ['a'],
    tag: 'conv/w',
  });
  expect(code).toContain('log.histograms(run, "conv/w").without_overwritten()');
  expect(code).toContain('for run in ["a"]:');
});

const VIEW: HistogramsView = {
  runs: ['a'],
  x: 'step',
  max_points: 51,
  bins: 30,
  percentiles: true,
  ignore_outliers: false,
};

const makeRow = (id: string): HistogramChartRow => ({
  ...{ id, error: null, runs: 1, grid: null, is_clipped: false, series: [] },
});

test('only charts with the same number of runs and steps share a request', async () => {
  const transport = new FakeTransport();
  const cache = new QueryCache({ transport });
  const fetch = (tag: string, options: Partial<HistogramRequest['chart']>, maxRuns = 4) =>
    cache.fetch(histogramQuery, { view: VIEW, maxRuns, chart: { tag, ...options } });
  const all = [
    fetch('a', {}),
    fetch('b', {}),
    fetch('c', {}, 1),
    fetch('d', { start: 0, stop: 9 }),
  ];
  const sent: string[] = [];
  for (let index = 0; index < 3; index++) {
    await settle();
    const request = transport.get(index).body as HistogramsRequest;
    const tags = request.charts.map(({ tag }) => tag).join();
    sent.push(`${tags} ${request.max_runs} ${request.max_points}`);
    await transport.get(index).respond({ charts: request.charts.map(({ id }) => makeRow(id)) });
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
