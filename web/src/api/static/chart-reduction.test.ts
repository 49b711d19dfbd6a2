import { expect, test } from 'vitest';

import { makeChartRow } from './chart-reduction';
import { applyView, type ExportedSeries, type SeriesKey, type SeriesView } from './series-view';
import { makeChartsRequest, makeSeries } from './test-series';

function members(...series: readonly ExportedSeries[]): (readonly [SeriesKey, SeriesView])[] {
  return series.map((one) => [{ run: one.run, tag: 'loss' }, applyView(one, 'step', null, null)]);
}

const ask = makeChartsRequest();
const chart = { id: 'a', tags: ['loss'], start: null, stop: null };

test('few points are all there, exactly', () => {
  const answer = makeChartRow(chart, ask, members(makeSeries('a', [3, NaN, 1])));
  const [line] = answer.lines;
  expect([answer.reduced, answer.thinned, answer.points, answer.runs]).toEqual([
    false,
    false,
    3,
    1,
  ]);
  expect([[...(line?.x ?? [])], [...(line?.y ?? [])]]).toEqual([
    [0, 10, 20],
    [3, NaN, 1],
  ]);
  expect(line?.last).toEqual({ step: 20, wall_time: 1002, x: 20, value: 1, smoothed: 1 });
  expect([line?.min?.step, line?.max?.step]).toEqual([20, 0]);
  expect(line?.odd).toEqual([{ x: 10, step: 10, kind: 'nan' }]);
});

test('many points are reduced to columns without losing a peak', () => {
  const values = Array.from({ length: 5000 }, (_, at) => (at === 2501 ? 99 : at % 2));
  const answer = makeChartRow(chart, ask, members(makeSeries('a', values)));
  const [line] = answer.lines;
  expect([answer.reduced, answer.thinned, line?.x, answer.grid?.length]).toEqual([
    true,
    false,
    null,
    100,
  ]);
  expect(line?.high?.[50]).toBe(99);
  expect(line?.low?.every((value) => value === 0)).toBe(true);
});

test('a zoom has the points next to its edges, too', () => {
  const zoomed = { ...chart, start: 15, stop: 25 };
  const answer = makeChartRow(zoomed, ask, members(makeSeries('a', [0, 1, 2, 3, 4])));
  expect([...(answer.lines[0]?.x ?? [])]).toEqual([10, 20, 30]);
  expect(answer.points).toBe(1);
});

test('points that the copy left behind are counted, and said to be', () => {
  const index = Int32Array.of(0, 5000, 9999);
  const series = makeSeries('a', [1, 2, 3], { points: 10_000, index });
  const answer = makeChartRow(chart, ask, members(series));
  expect([answer.points, answer.reduced, answer.thinned]).toEqual([10_000, true, true]);
});

test('groups become bands, and the others stay lines', () => {
  const grouped = makeChartsRequest({ groups: [{ key: 'g', runs: ['a', 'b'] }] });
  const runs = [makeSeries('a', [1, 2]), makeSeries('b', [3, 4]), makeSeries('c', [5, 6])];
  const answer = makeChartRow(chart, grouped, members(...runs));
  expect(answer.lines.map((line) => line.run)).toEqual(['c']);
  const [band] = answer.bands;
  expect([band?.group, band?.runs, [...(band?.center ?? [])]]).toEqual(['g', 2, [2, 3]]);
  expect([...(band?.high ?? [])].map((value) => value.toFixed(6))).toEqual([
    (2 + Math.SQRT2).toFixed(6),
    (3 + Math.SQRT2).toFixed(6),
  ]);
});

test.each([
  ['minmax', [1, 5]],
  ['stderr', [3 - 2 / Math.sqrt(3), 3 + 2 / Math.sqrt(3)]],
  ['ci95', [3 - (4.302653 * 2) / Math.sqrt(3), 3 + (4.302653 * 2) / Math.sqrt(3)]],
] as const)('a band of %s', (spread, ends) => {
  const groups = [{ key: 'g', runs: ['a', 'b', 'c'] }];
  const runs = [makeSeries('a', [1]), makeSeries('b', [3]), makeSeries('c', [5])];
  const [band] = makeChartRow(
    chart,
    makeChartsRequest({ groups, band: spread }),
    members(...runs),
  ).bands;
  expect(band?.low[0]).toBeCloseTo(ends[0]);
  expect(band?.high[0]).toBeCloseTo(ends[1]);
});
