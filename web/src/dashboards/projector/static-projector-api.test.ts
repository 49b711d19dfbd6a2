import { expect, test } from 'vitest';

import type { DashboardApi } from '../../plugin/context';
import { StaticProjectorApi, type StaticEmbedding } from './static-projector-api';

const words = ['cat', 'dog', 'tree'];
const column = {
  ...{ name: 'word', kind: 'text' as const, numbers: null, codes: null },
  text: new TextEncoder().encode(words.join('')),
  ends: Int32Array.from([3, 6, 10]),
};
const copy = {
  about: { id: 'a', rows: 3, dimensions: 2 },
  columns: [column],
  layouts: [
    {
      method: { type: 'pca' },
      rows: null,
      places: [0, 1, 2].map((axis) => Float32Array.of(axis, axis, axis)),
      explained: [0.7, 0.2, 0.1],
    },
  ],
  vectors: Float32Array.of(1, 0, 2, 0, 0, 3),
} as unknown as StaticEmbedding;

const open = () =>
  new StaticProjectorApi({ get: () => Promise.resolve(copy) } as unknown as DashboardApi);
const ref = { id: 'a', index: 0, mark: 'm' };

test('a layout that is carried is done at once, along the axes that are asked for', async () => {
  const api = open();
  const body = { ...ref, method: { type: 'pca' }, rows: null };
  const { job, state } = await api.post<{ job: string; state: string }>('project', body);
  expect(state).toBe('done');
  const path = `layout?job=${encodeURIComponent(job)}&seen=0&axes=2&axes=0`;
  const { places } = await api.get<{ places: Float32Array[] }>(path);
  expect(places.map((axis) => axis[0])).toEqual([2, 0]);
});

test('what is not carried is told', async () => {
  const api = open();
  const tsne = api.post('project', { ...ref, method: { type: 'tsne', dimensions: 2 }, rows: null });
  await expect(tsne).rejects.toThrow('does not carry');
  const some = api.post('project', { ...ref, method: { type: 'pca' }, rows: 'AQ==' });
  await expect(some).rejects.toThrow('does not carry');
  await expect(api.get('quality?job=a+pca')).rejects.toThrow('does not carry');
});

test('labels are searched, and points told', async () => {
  const api = open();
  const search = async (query: string, regex: boolean) => {
    const body = { ...ref, query, regex, column: null };
    return [...(await api.post<{ rows: Int32Array }>('search', body)).rows];
  };
  expect(await search('D', false)).toEqual([1]);
  expect(await search('^(cat|tree)$', true)).toEqual([0, 2]);
  await expect(search('(', true)).rejects.toThrow('no regular expression');
  const point = await api.get<{ cells: unknown; length: number }>('point?id=a&row=2');
  expect(point).toMatchObject({ cells: [{ name: 'word', text: 'tree' }], length: 3 });
});

test.each([
  ['euclidean', [1, 2]],
  ['cosine', [1, 2]],
  ['dot', [1, 2]],
] as const)('neighbours are found by %s', async (metric, nearest) => {
  const body = { ...ref, row: 0, metric, count: 5 };
  const answer = await open().post<{ rows: Int32Array }>('neighbours', body);
  expect([...answer.rows]).toEqual(nearest);
});
