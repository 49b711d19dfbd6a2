import { expect, test } from 'vitest';

import type { StaticEmbedding } from '../../api/schemas';
import { ExportContents, StaticTransport } from '../../api/static/static-transport';
import type { RequestOf, ResponseOf, RouteName } from '../../api/query-definition';
import { makeWireRequest } from '../../api/transport';
import { projectorHandlers } from './static-projector';

const words = ['cat', 'dog', 'tree'];
const embedding = {
  info: { id: 'a', rows: 3, dimensions: 2 },
  columns: [
    {
      ...{ name: 'word', kind: 'text' as const, numbers: null, codes: null },
      text: new TextEncoder().encode(words.join('')),
      ends: Int32Array.from([3, 6, 10]),
    },
  ],
  layouts: [
    {
      method: { type: 'pca' },
      rows: null,
      coordinates: [0, 1, 2].map((axis) => Float32Array.of(axis, axis, axis)),
      explained_ratio: [0.7, 0.2, 0.1],
    },
  ],
  vectors: Float32Array.of(1, 0, 2, 0, 0, 3),
} as unknown as StaticEmbedding;

const contents = new ExportContents({
  head: { created: 0, responses: {} },
  ...{ packed: {}, files: {} },
} as never);
contents.read = () => Promise.resolve(embedding);
const transport = new StaticTransport(contents, projectorHandlers);
const reference = { id: 'a', index: 0, mark: 'm' };

async function send<Name extends RouteName>(
  route: Name,
  request: RequestOf<Name>,
): Promise<ResponseOf<Name>> {
  const wire = makeWireRequest(route, request);
  return (await transport.send(wire)) as ResponseOf<Name>;
}

test('a layout in the export is done at once, along the requested axes', async () => {
  const { job, state } = await send('POST projector/project', {
    ...reference,
    method: { type: 'pca' },
    rows: null,
  });
  expect(state).toBe('done');
  const { coordinates } = await send('GET projector/layout', { job, axes: [2, 0] });
  expect(coordinates.map((axis) => axis[0])).toEqual([2, 0]);
});

test('other layouts are reported as missing', async () => {
  const tsne = { type: 'tsne', dimensions: 2 } as const;
  await expect(
    send('POST projector/project', { ...reference, method: tsne, rows: null }),
  ).rejects.toThrow('Not included');
  await expect(send('POST projector/project', { ...reference, rows: 'AQ==' })).rejects.toThrow(
    'Not included',
  );
  await expect(send('GET projector/quality', { job: 'a pca' })).rejects.toThrow('Not included');
});

test('searches labels and describes points', async () => {
  const search = async (query: string, regex: boolean) => {
    const request = { ...reference, query, regex, column: null };
    return [...(await send('POST projector/search', request)).rows];
  };
  expect(await search('D', false)).toEqual([1]);
  expect(await search('^(cat|tree)$', true)).toEqual([0, 2]);
  await expect(search('(', true)).rejects.toThrow('Invalid regular expression');
  const point = await send('GET projector/point', { ...reference, row: 2 });
  expect(point).toMatchObject({ cells: [{ name: 'word', text: 'tree' }], length: 3 });
});

test.each(['euclidean', 'cosine', 'dot'] as const)('finds neighbors by %s', async (metric) => {
  const request = { ...reference, row: 0, metric, count: 5 };
  expect([...(await send('POST projector/neighbors', request)).rows]).toEqual([1, 2]);
});
