import { expect, it } from 'vitest';

import type { StageRow } from '../../../api/schemas';
import { flattenStages } from './pipeline-tree';

const stage = (id: number, parent: number | null): StageRow => ({
  id,
  parent,
  name: `stage ${id}`,
  op: '',
  calls: 1,
  total_ms: 1,
  self_ms: 1,
  critical_ms: 0,
  parallelism: null,
  is_slowest: false,
  advice: null,
  event: 0,
});

const flatten = (stages: StageRow[]): [number, number][] =>
  flattenStages(stages).map(({ stage, depth }) => [stage.id, depth]);

it('puts stages below their consumers', () =>
  expect(flatten([stage(3, 2), stage(2, 1), stage(1, null), stage(4, 1)])).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
    [4, 1],
  ]));

it('treats a stage whose parent was not recorded as a root', () =>
  expect(flatten([stage(2, 9)])).toEqual([[2, 0]]));

it('ignores stages that feed each other', () =>
  expect(flatten([stage(1, null), stage(2, 3), stage(3, 2)])).toEqual([[1, 0]]));
