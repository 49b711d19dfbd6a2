import { describe, expect, test } from 'vitest';

import type { BucketsResponse, HistogramChartRow, HistogramSeriesRow } from '../../api/schemas';
import {
  formatCardNote as say,
  formatFullCardNote,
  getCardHeight,
  getMaxRuns,
  summarizeIssues,
} from './histogram-chart-data';
import { getAxisValues, mergeBins } from './static-histograms';
import { viewportsCodec } from './histograms-settings';
import { makePythonSnippet } from './histogram-card-actions';
import {
  makeBucketRow,
  findBucketIndex,
  formatBucket,
  makePercentileRows,
  makeTotalRows,
} from './histogram-tooltip';

function makeSeries(rest: Partial<HistogramSeriesRow> = {}): HistogramSeriesRow {
  const zeros = new Float64Array(2);
  return {
    run: 'a',
    tag: 'w',
    count: 1000,
    index: Int32Array.of(0, 9),
    mark: Int32Array.of(1, 2),
    step: Float64Array.of(0, 900),
    wall_time: Float64Array.of(1e9, 1e9 + 60),
    x: Float64Array.of(0, 900),
    low: Float64Array.of(-1, -2),
    high: Float64Array.of(1, 2),
    counted: Float64Array.of(10, 200),
    num: Float64Array.of(NaN, NaN),
    nan: zeros,
    positive_infinity: zeros,
    negative_infinity: zeros,
    unplaced: zeros,
    spoiled: new Uint8Array(2),
    bins: Float32Array.of(4, 6, 50, 150),
    percentiles: Float64Array.from({ length: 18 }, (_, at) => at % 9),
    flaws: [],
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

const makeChart = (...own: HistogramSeriesRow[]): HistogramChartRow => ({
  id: 'w',
  error: null,
  runs: own.length,
  grid: Float64Array.of(-2, 0, 2),
  cut: false,
  series: own,
});

describe('what is said of a card', () => {
  test('how many steps there are and how many are drawn', () => {
    expect(say(makeChart(makeSeries()), false)).toBe('1,000 steps, 2 drawn');
    expect(say(makeChart(makeSeries({ count: 2 }), makeSeries({ count: 2 })), false)).toBe(
      '2 runs · all 2 steps',
    );
    expect(say({ ...makeChart(makeSeries()), cut: true }, true)).toBe(
      '2 of 1,000 steps in this copy · far values cut off',
    );
    expect(formatFullCardNote(makeChart(makeSeries()), false)).toContain('zoom in');
  });

  test('steps with NaN, infinities or unreadable values', () => {
    const odd = makeSeries({
      nan: Float64Array.of(3, 0),
      spoiled: Uint8Array.of(0, 1),
      flaws: [{ step: 7, what: 'no histogram' }],
    });
    expect(summarizeIssues([odd, makeSeries()])).toMatchObject({
      nonFiniteSteps: 2,
      unreadableCount: 1,
    });
    expect(summarizeIssues([odd]).description).toContain('Step 7');
  });
});

describe('at the pointer', () => {
  test('the bucket as logged, its count and share', () => {
    const row = makeBucketRow(makeSeries(), 1, makeChart().grid, 0.5, BUCKETS);
    expect(row).toMatchObject({ name: '[0, 1)', value: '100', extra: '50.0 %' });
    expect(makeBucketRow(makeSeries(), 1, makeChart().grid, 2, BUCKETS)?.name).toBe('[1, 2]');
    expect(makeBucketRow(makeSeries(), 1, makeChart().grid, 9, BUCKETS)?.value).toBe('no bucket');
  });

  test('the bin, as long as the bucket is not known', () => {
    const row = makeBucketRow(makeSeries(), 1, makeChart().grid, 0.5, undefined);
    expect(row).toMatchObject({ name: '[0, 2)', value: '≈ 150', extra: '75.0 %' });
    expect(makeBucketRow(makeSeries(), 1, makeChart().grid, null, undefined)).toBeNull();
  });

  test('a bucket without width is found beside its value', () => {
    const same = {
      ...BUCKETS,
      left: Float64Array.of(3),
      right: Float64Array.of(3),
      counts: Float64Array.of(9),
    };
    expect(findBucketIndex(same, 3.02)).toBe(0);
    expect(formatBucket(3, 3, true)).toBe('exactly 3');
  });

  test('mean, deviation and what was no number', () => {
    const odd = makeSeries({ nan: Float64Array.of(0, 4), num: Float64Array.of(NaN, 300) });
    const rows = makeTotalRows(odd, 1, BUCKETS);
    expect(rows.find(({ name }) => name === 'mean ± std')).toMatchObject({
      value: '0.5',
      extra: '± 1',
    });
    expect(rows.find(({ name }) => name === 'NaN')?.value).toBe('4');
    expect(rows.find(({ name }) => name === 'its writer says')?.value).toBe('300');
  });

  test('all nine values, the largest on top', () => {
    const rows = makePercentileRows(makeSeries(), 0);
    expect(rows.map(({ name }) => name)).toEqual([
      'max',
      '93.32 %',
      '84.13 %',
      '69.15 %',
      'median',
      '30.85 %',
      '15.87 %',
      '6.68 %',
      'min',
    ]);
    expect(rows.map(({ value }) => value)).toEqual(['8', '7', '6', '5', '4', '3', '2', '1', '0']);
  });
});

test('a copy is seen along any axis, and with fewer bins that hold as much', () => {
  expect([...getAxisValues(makeSeries(), 'relative')]).toEqual([0, 60]);
  expect([...getAxisValues(makeSeries(), 'step')]).toEqual([0, 900]);
  const { grid, merge } = mergeBins(Float64Array.of(0, 1, 2, 3, 4), 2);
  expect([...(grid ?? [])]).toEqual([0, 2, 4]);
  expect([...merge(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8))]).toEqual([3, 7, 11, 15]);
});

test('what is seen of cards goes into the address and back', () => {
  const seen = new Map([['a,b', { steps: [1, 2] as const, values: null }]]);
  expect(viewportsCodec.parse(viewportsCodec.format(seen))).toEqual(seen);
  expect(viewportsCodec.parse('a,2,1,,').size).toBe(0);
});

test('there is room for as many runs as can be read', () => {
  expect(getMaxRuns('offset', 340, 200)).toBe(6);
  expect(getMaxRuns('offset', 80, 60)).toBe(1);
  expect(getMaxRuns('together', 340, 200)).toBe(12);
  expect(getCardHeight(340, 8)).toBeGreaterThan(getCardHeight(340, 1));
});

test('lines of Python name the runs and the tag', () => {
  const code = makePythonSnippet({
    roots: [{ name: '', path: '/logs' }],
    runs: ['a'],
    tag: 'conv/w',
  });
  expect(code).toContain('log.histograms(run, "conv/w").without_overwritten()');
  expect(code).toContain('for run in ["a"]:');
});
