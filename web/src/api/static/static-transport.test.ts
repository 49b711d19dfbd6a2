import { expect, test } from 'vitest';

import { type ApiError, postJson } from '../client';
import type { Transport } from '../transport';
import type { ChartsResponse, RangeStatsResponse } from '../scalar-schemas';
import { type ExportData, ExportContents } from './contents';
import { createStaticTransport } from './static-transport';
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
  odd: 0,
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

async function openCopy(loaded: string[] = []): Promise<Transport> {
  const carried = await carry();
  const contents = new ExportContents(carried, async (file) => {
    loaded.push(file);
    carried.packed['api/v1/scalars/series/0'] = await pack({
      tag: 'loss',
      series: [series('a', 1, 2, 3), series('b', 9)],
    });
  });
  return createStaticTransport(contents);
}

test('what a page asks for at first is there', async () => {
  expect(await (await openCopy()).request('api/v1/runs', {})).toEqual({ runs: [] });
});

test('series are loaded once, when a chart asks for them', async () => {
  const loaded: string[] = [];
  const door = await openCopy(loaded);
  expect(loaded).toEqual([]);
  const asked = postJson(makeChartsRequest({ runs: ['a'] }));
  const answer = (await door.request('api/v1/scalars/query', asked)) as ChartsResponse;
  await door.request('api/v1/scalars/query', asked);
  expect(answer.charts[0]?.lines.map((line) => [line.run, [...line.y]])).toEqual([
    ['a', [1, 2, 3]],
  ]);
  expect(loaded).toEqual(['data/scalars-0.js']);
});

test('tables are worked out of the same points', async () => {
  const ask = { runs: null, tags: ['loss'], x: 'step', smoothing: null, baseline: null };
  const door = await openCopy();
  const range = postJson({ ...ask, start: 1, stop: null });
  const { rows } = (await door.request('api/v1/scalars/range', range)) as RangeStatsResponse;
  expect(rows.map(({ run, mean, count, change }) => [run, mean, count, change])).toEqual([
    ['a', 2.5, 2, 1],
  ]);
  const at = await door.request('api/v1/scalars/at', postJson({ ...ask, at: 1.2 }));
  expect(at).toMatchObject({
    rows: [
      { run: 'a', step: 1, value: 2 },
      { run: 'b', step: 0 },
    ],
  });
});

test('tags are those of the runs that are meant', async () => {
  const door = await openCopy();
  const ask = (runs: string[]) => door.request('api/v1/tags', postJson({ runs }));
  expect(await ask(['b'])).toEqual({ tags: ['loss'] });
  expect(await ask(['a', 'b'])).toEqual({ tags: ['loss', 'acc'] });
  expect(await ask(['c'])).toEqual({ tags: [] });
});

test('files are files again', async () => {
  const file = await (await openCopy()).request('api/v1/images/thumbnail', {});
  expect(file).toBeInstanceOf(Blob);
  expect((file as Blob).type).toBe('image/png');
});

test('columns of runs are picked out of all', async () => {
  const ask = postJson({ columns: ['last:loss', 'hparam:lr'] });
  expect(await (await openCopy()).request('api/v1/runs/columns', ask)).toEqual({
    runs: ['a', 'b'],
    columns: { 'last:loss': [1, 2], 'hparam:lr': [null, null] },
  });
});

test('a copy keeps nothing, and says so', async () => {
  const change = (await openCopy()).request('api/v1/notes/runs', {
    ...postJson({}),
    method: 'PATCH',
  });
  const error = await change.catch((error: unknown) => error as ApiError);
  expect(error).toMatchObject({
    status: 405,
    problem: { message: expect.stringContaining('keeps nothing') },
  });
});
