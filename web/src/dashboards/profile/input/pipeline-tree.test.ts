import { expect, it } from 'vitest';

import type { StageRow } from '../schemas';
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
  parallel: null,
  is_slowest: false,
  advice: '',
  event: 0,
});

const seen = (stages: StageRow[]): [number, number][] =>
  flattenStages(stages).map(({ stage, depth }) => [stage.id, depth]);

it('puts stages below those that ask them', () =>
  expect(seen([stage(3, 2), stage(2, 1), stage(1, null), stage(4, 1)])).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
    [4, 1],
  ]));

it('takes a stage whose parent was not recorded for a first one', () =>
  expect(seen([stage(2, 9)])).toEqual([[2, 0]]));

it('ends where stages ask each other', () =>
  expect(seen([stage(1, null), stage(2, 3), stage(3, 2)])).toEqual([[1, 0]]));
