import { expect, test } from 'vitest';

import type { TagRow } from '../../api/schemas';
import { getMeshName, mergeMeshTags } from './mesh-tags';

const row = (tag: string, rest: Partial<TagRow> = {}): TagRow => ({
  tag,
  plugin: 'mesh',
  kind: 'tensor',
  runs: 1,
  count: 1,
  overwritten: 0,
  first: { step: 0, wall_time: 1 },
  last: { step: 0, wall_time: 1 },
  display_name: '',
  description: '',
  ...rest,
});

test.each([
  ['torus_VERTEX', 'torus'],
  ['a/b_FACE', 'a/b'],
  ['a_VERTEX_COLOR', 'a_VERTEX'],
  ['torus_COLOR_1', 'torus_1'],
  ['cloud', 'cloud'],
  ['_VERTEX', ''],
])('%j belongs to %j', (tag, name) => expect(getMeshName(tag)).toBe(name));

test('three series are merged to one mesh', () => {
  const merged = mergeMeshTags([
    row('b_COLOR', { count: 3, last: { step: 9, wall_time: 9 } }),
    row('b_FACE', { description: 'A ball.' }),
    row('b_VERTEX', { count: 2, runs: 2, display_name: 'b_VERTEX' }),
    row('c_VERTEX', { display_name: 'The cloud' }),
  ]);
  expect(merged.map(({ tag }) => tag)).toEqual(['b', 'c']);
  expect(merged[0]).toMatchObject({ count: 3, runs: 2, description: 'A ball.', display_name: '' });
  expect(merged[0]?.last?.step).toBe(9);
  expect(merged[1]?.display_name).toBe('The cloud');
});
