import { expect, test } from 'vitest';

import type { RunGroup, VisibleRun } from '../plugin/context';
import { listChartRuns, makeBandGroups } from './band-groups';

function makeRuns(...names: string[]): VisibleRun[] {
  return names.map((name) => ({ name, label: name, color: '#111', dash: [], group: null }));
}

function describe(groups: readonly RunGroup[], ...names: string[]): [string, readonly string[]][] {
  return makeBandGroups({ groups, visible: makeRuns(...names) }).map(({ label, runs }) => [
    label,
    runs,
  ]);
}

test('train and validation runs are separate bands', () => {
  expect(describe([], 'a/train', 'a/validation', 'b/train', 'b/val')).toEqual([
    ['All 4 runs · train', ['a/train', 'b/train']],
    ['All 4 runs · validation', ['a/validation', 'b/val']],
  ]);
});

test('runs are grouped by the folder of their experiment', () => {
  const names = ['x/vit/seed1/train', 'x/vit/seed2/train', 'x/cnn/seed1', 'x/cnn/seed2', 'x/alone'];
  expect(describe([], ...names)).toEqual([
    ['vit', ['x/vit/seed1/train', 'x/vit/seed2/train']],
    ['cnn', ['x/cnn/seed1', 'x/cnn/seed2']],
    ['Other', ['x/alone']],
  ]);
});

test('runs of one folder form one group', () => {
  expect(describe([], 'seed1', 'seed2')).toEqual([['All 2 runs', ['seed1', 'seed2']]]);
});

test('groups of the table keep their color, and evaluation is dashed', () => {
  const group = { key: 'lr=1', label: 'lr=1', color: '#abc', runs: ['a/train', 'a/eval', 'a'] };
  const bands = makeBandGroups({ groups: [group], visible: [] });
  expect(bands.map(({ label, color, dash }) => [label, color, dash.length > 0])).toEqual([
    ['lr=1 · train', '#abc', false],
    ['lr=1 · evaluation', '#abc', true],
    ['lr=1', '#abc', false],
  ]);
  expect(new Set(bands.map(({ key }) => key)).size).toBe(3);
});

test('a chart has the runs of its lines and of complete bands', () => {
  const groups = makeBandGroups({ groups: [], visible: makeRuns('a/1', 'a/2', 'b/1', 'b/2') });
  const lines = [{ run: 'c' }];
  const bands = [
    { group: 'a/', runs: 2 },
    { group: 'b/', runs: 1 },
  ];
  expect([...listChartRuns({ lines, bands }, groups)]).toEqual(['c', 'a/1', 'a/2']);
});
