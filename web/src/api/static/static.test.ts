import { describe, expect, test } from 'vitest';

import { NotExportedError, type ServerError } from '../errors';
import type { ChartsRequest, ChartsResponse, ExportedSeries, RangeStatsResponse } from '../schemas';
import { makeWireRequest } from '../transport';
import { makeChartRow } from './chart-reduction';
import {
  applyView,
  compareWithBaseline,
  listRowsInRange,
  makeBaseline,
  type SeriesKey,
  type SeriesView,
  smooth,
} from './series-view';
import { makeScalarHandlers, writeTable } from './static-scalars';
import { ExportContents, type ExportData, StaticTransport } from './static-transport';

function makeSeries(
  run: string,
  value: readonly number[],
  fields: Partial<ExportedSeries> = {},
): ExportedSeries {
  return {
    run,
    points: value.length,
    overwritten: 0,
    nonfinite_count: 0,
    step: Float64Array.from(value, (_, index) => 10 * index),
    wall_time: Float64Array.from(value, (_, index) => 1000 + index),
    value: Float64Array.from(value),
    index: null,
    ...fields,
  };
}

function makeChartsRequest(fields: Partial<ChartsRequest> = {}): Required<ChartsRequest> {
  return {
    runs: null,
    x: 'step',
    smoothing: null,
    overwritten: false,
    baseline: null,
    groups: null,
    center: 'mean',
    band: 'std',
    min_runs: 1,
    width: 100,
    charts: [{ id: 'a', tags: ['loss'], start: null, stop: null }],
    ...fields,
  };
}

describe('static scalars', () => {
  describe('tables', () => {
    const series = makeSeries('a,b', [1, NaN, -Infinity]);
    const members = [
      [{ run: 'a,b', tag: 'say "x"' }, applyView(series, 'step', null, null)],
    ] as const;

    test('a table has one line per point', async () => {
      const file = writeTable({ format: 'csv', x: 'step', smoothing: null }, members);
      expect(await file?.text()).toBe(
        [
          'run,tag,step,wall_time,value',
          '"a,b","say ""x""",0,1000,1',
          '"a,b","say ""x""",10,1001,nan',
          '"a,b","say ""x""",20,1002,-inf\n',
        ].join('\n'),
      );
    });

    test('JSON has one object per series', async () => {
      const smoothing = { kind: 'ema', amount: 0.5 } as const;
      const smoothed = applyView(makeSeries('r', [1, 3]), 'relative', smoothing, null);
      const ask = { format: 'json', x: 'relative', smoothing } as const;
      const file = writeTable(ask, [[{ run: 'r', tag: 't' }, smoothed]]);
      expect(JSON.parse((await file?.text()) ?? '')).toEqual([
        {
          run: 'r',
          tag: 't',
          step: [0, 10],
          wall_time: [1000, 1001],
          x: [0, 1],
          value: [1, 3],
          smoothed: [1, 7 / 3],
        },
      ]);
    });

    test('Parquet is not supported', () => {
      expect(writeTable({ format: 'parquet', x: 'step', smoothing: null }, members)).toBeNull();
    });
  });

  describe('series views', () => {
    const values = Float64Array.of(1, 2, NaN, 4, 3);
    const steps = Float64Array.of(0, 1, 2, 4, 8);

    const rounded = (column: Float64Array): number[] =>
      [...column].map((value) => Number(value.toFixed(6)));

    /** Computed by the server. */
    test.each([
      ['ema', 0.5, [1, 1.666667, NaN, 3, 3]],
      ['time_ema', 2, [1, 1.585786, NaN, 3.091326, 3.026135]],
      ['mean', 3, [1.5, 1.5, NaN, 3.5, 3.5]],
      ['median', 4, [1.5, 1.5, NaN, 3, 3.5]],
      ['gaussian', 1, [1.395883, 1.814743, NaN, 3.480581, 3.36759]],
    ] as const)('%s is equal to that of the server', (kind, amount, smoothed) => {
      expect(rounded(smooth(values, steps, { kind, amount }))).toEqual(smoothed);
    });

    test('constant values are not smoothed', () => {
      const flat = Float64Array.of(0.1, 0.1, 0.1);
      expect(smooth(flat, flat, { kind: 'ema', amount: 0.9 })).toBe(flat);
    });

    const series = makeSeries('a', [5, 6, 7], { step: Float64Array.of(100, 110, 120) });

    test.each([
      ['step', [100, 110, 120]],
      ['relative_step', [0, 10, 20]],
      ['relative', [0, 1, 2]],
      ['wall', [1000, 1001, 1002]],
      ['index', [0, 1, 2]],
    ])('x values of the axis %s', (axis, x) => {
      expect([...applyView(series, axis, null, null).x]).toEqual(x);
    });

    test('points that were not exported are counted', () => {
      const thinned = { ...series, index: Int32Array.of(0, 7, 9) };
      expect([...applyView(thinned, 'index', null, null).x]).toEqual([0, 7, 9]);
    });

    test('a metric on the x axis has its last value', () => {
      const epoch = makeSeries('a', [0, 1], { step: Float64Array.of(105, 115) });
      const curve = applyView(series, 'metric:epoch', null, epoch);
      expect([[...curve.x], [...curve.value]]).toEqual([
        [0, 1],
        [6, 7],
      ]);
    });

    test('points are sorted if the clock was set back', () => {
      const odd = makeSeries('a', [1, 2, 3], { wall_time: Float64Array.of(5, 3, 4) });
      const curve = applyView(odd, 'wall', null, null);
      expect([[...curve.x], [...curve.value], curve.startTime]).toEqual([[3, 4, 5], [2, 3, 1], 5]);
    });

    test('a range includes its ends', () => {
      const curve = applyView(series, 'step', null, null);
      expect(listRowsInRange(curve, 110, 120)).toEqual([1, 2]);
      expect(listRowsInRange(curve, null, 100)).toEqual([0]);
    });

    const base = makeBaseline(applyView(makeSeries('base', [2, NaN, 4]), 'step', null, null));

    test('runs are compared within the range of the baseline', () => {
      const run = applyView(
        makeSeries('a', [3, 6, 9, 9], { step: Float64Array.of(0, 10, 20, 30) }),
        'step',
        null,
        null,
      );
      expect([...compareWithBaseline(run, base, 'difference').value]).toEqual([1, 3, 5]);
      expect([...compareWithBaseline(run, base, 'ratio').value]).toEqual([1.5, 2, 2.25]);
    });

    test('without a baseline there are no points', () => {
      const run = applyView(makeSeries('a', [3, 6]), 'step', null, null);
      expect(compareWithBaseline(run, undefined, 'ratio').x.length).toBe(0);
    });
  });

  describe('charts', () => {
    function members(...series: readonly ExportedSeries[]): (readonly [SeriesKey, SeriesView])[] {
      return series.map((one) => [
        { run: one.run, tag: 'loss' },
        applyView(one, 'step', null, null),
      ]);
    }

    const ask = makeChartsRequest();
    const chart = { id: 'a', tags: ['loss'], start: null, stop: null };

    test('few points are not reduced', () => {
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
      expect(line?.nonfinite).toEqual([{ x: 10, step: 10, kind: 'nan' }]);
    });

    test('many points are reduced to columns, with their extremes', () => {
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

    test('a zoomed range includes the points next to its edges', () => {
      const zoomed = { ...chart, start: 15, stop: 25 };
      const answer = makeChartRow(zoomed, ask, members(makeSeries('a', [0, 1, 2, 3, 4])));
      expect([...(answer.lines[0]?.x ?? [])]).toEqual([10, 20, 30]);
      expect(answer.points).toBe(1);
    });

    test('points that were not exported are counted, and the chart is marked', () => {
      const index = Int32Array.of(0, 5000, 9999);
      const series = makeSeries('a', [1, 2, 3], { points: 10_000, index });
      const answer = makeChartRow(chart, ask, members(series));
      expect([answer.points, answer.reduced, answer.thinned]).toEqual([10_000, true, true]);
    });

    test('groups become bands, other runs stay lines', () => {
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

    test('bands count runs, and are empty where there are too few', () => {
      const groups = [{ key: 'g', runs: ['a', 'b'] }];
      const runs = [makeSeries('a', [1, 2, 3]), makeSeries('b', [3, 4])];
      const makeBand = (min_runs: number) =>
        makeChartRow(chart, makeChartsRequest({ groups, min_runs }), members(...runs)).bands[0];
      expect([...(makeBand(1)?.count ?? [])]).toEqual([2, 2, 1]);
      expect([...(makeBand(2)?.center ?? [])]).toEqual([2, 3]);
      expect(makeBand(3)?.x).toHaveLength(0);
    });

    test.each([
      ['minmax', [1, 5]],
      ['quantiles', [1.2, 4.8]],
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
  });
});

describe('static transport', () => {
  /** As `tracklight/server/static_export` packs; arrays stand as columns of f8. */
  async function pack(answer: unknown): Promise<string> {
    const body: number[] = [];
    const header = JSON.stringify(answer, (_, value: unknown) => {
      if (value instanceof Uint8Array) return { $column: ['u1', 0, value.length] };
      if (!(value instanceof Float64Array)) return value;
      const at = body.length * 8;
      body.push(...value);
      return { $column: ['f8', at, value.length] };
    });
    const padded = header.padEnd(header.length + ((8 - (header.length % 8)) % 8));
    const length = Uint32Array.of(padded.length);
    const whole = new Blob(['TLC1', length, padded, Float64Array.from(body)]);
    const deflated = whole.stream().pipeThrough(new CompressionStream('deflate-raw'));
    const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
    return btoa(String.fromCharCode(...bytes));
  }

  const column = (...values: number[]): Float64Array => Float64Array.from(values);
  const series = (run: string, ...values: number[]) => ({
    run,
    points: values.length,
    overwritten: 0,
    nonfinite_count: 0,
    step: column(...values.keys()),
    wall_time: column(...values.keys()),
    value: column(...values),
    index: null,
  });

  async function carry(): Promise<ExportData> {
    const tags = [{ tag: 'loss', path: 'series/0', runs: ['a', 'b'] }];
    return {
      head: {
        created: 1000,
        run_colors: {},
        view: '',
        responses: { 'api/v1/runs': { runs: [] } },
        columns: { runs: ['a', 'b'], columns: { 'last:loss': [1, 2] } },
        tag_runs: { sets: [['a', 'b'], ['a']], tags: { loss: 0, acc: 1 } },
      },
      packed: {
        'api/v1/scalars/series': await pack({ tags }),
        'api/v1/images/thumbnail': await pack({
          media_type: 'image/png',
          content: new Uint8Array(0),
        }),
      },
      files: { 'api/v1/scalars/series/0': 'data/scalars-0.js' },
    };
  }

  async function openExport(loaded: string[] = []): Promise<StaticTransport> {
    const carried = await carry();
    const contents = new ExportContents(carried, async (file) => {
      loaded.push(file);
      carried.packed['api/v1/scalars/series/0'] = await pack({
        tag: 'loss',
        series: [series('a', 1, 2, 3), series('b', 9)],
      });
    });
    return new StaticTransport(contents, makeScalarHandlers(contents));
  }

  const send = (transport: StaticTransport, route: string, request: unknown): Promise<unknown> =>
    transport.send(makeWireRequest(route, request));

  test('responses in the head are returned', async () => {
    expect(await send(await openExport(), 'GET runs', {})).toEqual({ runs: [] });
  });

  test('series are loaded once, when a chart needs them', async () => {
    const loaded: string[] = [];
    const transport = await openExport(loaded);
    expect(loaded).toEqual([]);
    const request = makeChartsRequest({ runs: ['a'] });
    const response = (await send(transport, 'POST scalars/query', request)) as ChartsResponse;
    await send(transport, 'POST scalars/query', request);
    expect(response.charts[0]?.lines.map((line) => [line.run, [...line.y]])).toEqual([
      ['a', [1, 2, 3]],
    ]);
    expect(loaded).toEqual(['data/scalars-0.js']);
  });

  test('tables are computed from the same points', async () => {
    const transport = await openExport();
    const range = { tags: ['loss'], start: 1 };
    const { rows } = (await send(transport, 'POST scalars/range', range)) as RangeStatsResponse;
    expect(rows.map(({ run, mean, count, change }) => [run, mean, count, change])).toEqual([
      ['a', 2.5, 2, 1],
    ]);
    const nearest = await send(transport, 'POST scalars/at', { tags: ['loss'], x_value: 1.2 });
    expect(nearest).toMatchObject({
      rows: [
        { run: 'a', step: 1, value: 2 },
        { run: 'b', step: 0 },
      ],
    });
  });

  test('tags are those of the selected runs', async () => {
    const transport = await openExport();
    const listTags = (runs: string[]) => send(transport, 'POST tags', { runs });
    expect(await listTags(['b'])).toEqual({ tags: ['loss'] });
    expect(await listTags(['a', 'b'])).toEqual({ tags: ['loss', 'acc'] });
    expect(await listTags(['c'])).toEqual({ tags: [] });
  });

  test('files are returned as files', async () => {
    const file = await send(await openExport(), 'GET images/thumbnail', {});
    expect(file).toBeInstanceOf(Blob);
    expect((file as Blob).type).toBe('image/png');
  });

  test('columns of the run table are selected', async () => {
    const request = { columns: ['last:loss', 'hparam:lr'] };
    expect(await send(await openExport(), 'POST runs/columns', request)).toEqual({
      runs: ['a', 'b'],
      columns: { 'last:loss': [1, 2], 'hparam:lr': [null, null] },
    });
  });

  test('changes are refused, missing data is reported', async () => {
    const transport = await openExport();
    const change = transport.send({
      ...makeWireRequest('PATCH notes/runs', { runs: [] }),
      isMutation: true,
    });
    const error = await change.catch((caught: unknown) => caught as ServerError);
    expect(error).toMatchObject({
      status: 405,
      problem: { message: expect.stringContaining('read-only') },
    });
    const search = send(transport, 'POST text/search', { query: 'a' });
    await expect(search).rejects.toBeInstanceOf(NotExportedError);
  });

  test('supported routes have a handler or a response', async () => {
    const transport = await openExport();
    const supported = [
      'GET runs',
      'GET images/thumbnail',
      'GET scalars/series',
      'POST scalars/at',
      'GET images/thumb',
      'GET audio/waveform',
      'POST text/search',
    ].filter((route) => transport.supports(route));
    expect(supported).toEqual([
      'GET runs',
      'GET images/thumbnail',
      'GET scalars/series',
      'POST scalars/at',
    ]);
  });
});
