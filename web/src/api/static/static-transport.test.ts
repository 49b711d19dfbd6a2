import { expect, test } from 'vitest';

import { NotExportedError, type ServerError } from '../errors';
import { makeWireRequest } from '../transport';
import type { ChartsResponse, RangeStatsResponse } from '../schemas';
import { ExportContents, type ExportData, StaticTransport } from './static-transport';
import { makeScalarHandlers } from './static-scalars';
import { makeChartsRequest } from './test-series';

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
