import { expect, test } from 'vitest';
import type { CallTreeResponse } from '../../../api/schemas';
import {
  flattenCalls,
  layoutFlame,
  listExpanded,
  listHotPath,
  makeCallTree,
  shortenCallName,
  sumMatches,
} from './flame-graph';

/** main (10) calls step (8), which calls mm (5) and add (2); the other thread is idle for 2. */
const RESPONSE: CallTreeResponse = {
  unique_names: ['main', 'other', 'step', 'mm', 'add'],
  names: Int32Array.from([0, 1, 2, 4, 3]),
  parents: Int32Array.from([-1, -1, 0, 2, 2]),
  counts: Int32Array.from([1, 1, 4, 8, 8]),
  total_ms: Float64Array.from([10, 2, 8, 2, 5]),
  self_ms: Float64Array.from([2, 2, 1, 2, 5]),
  events: Int32Array.from([-1, -1, 1, 2, 3]),
  baseline_total_ms: new Float64Array(0),
  baseline_self_ms: new Float64Array(0),
  steps: 4,
  baseline_steps: 0,
  omitted_nodes: 0,
  tracks: [],
  step_names: [],
  frame_kinds: ['all'],
  has_device: false,
};

test('children are sorted by time', () => {
  const tree = makeCallTree(RESPONSE);
  expect(tree.total).toBe(12);
  expect(tree.roots).toEqual([0, 1]);
  expect(tree.nodes[2]?.children).toEqual([4, 3]);
  expect(tree.maxDepth).toBe(2);
});

test('bars are as wide as their share, below their caller', () => {
  const bars = layoutFlame(makeCallTree(RESPONSE), null, 0);
  const find = (name: string) => bars.find(({ node }) => node.name === name);
  expect(find('main')).toMatchObject({ left: 0, row: 0 });
  expect(find('main')?.width).toBeCloseTo(10 / 12);
  expect(find('mm')?.width).toBeCloseTo(5 / 12);
  expect(find('add')?.left).toBeCloseTo(5 / 12);
  expect(find('add')?.row).toBe(2);
  expect(layoutFlame(makeCallTree(RESPONSE), null, 0.2).map(({ node }) => node.name)).toEqual([
    'main',
    'step',
    'mm',
  ]);
});

test('a node that is zoomed in on fills the graph, below its callers', () => {
  const bars = layoutFlame(makeCallTree(RESPONSE), 2, 0);
  expect(bars.map(({ node, isAncestor }) => [node.name, isAncestor])).toEqual([
    ['main', true],
    ['step', false],
    ['mm', false],
    ['add', false],
  ]);
  expect(bars[1]).toMatchObject({ left: 0, width: 1, row: 1 });
  expect(bars[2]?.width).toBeCloseTo(5 / 8);
});

test('nested matches count once', () => {
  const tree = makeCallTree(RESPONSE);
  expect(sumMatches(tree, (name) => name !== 'main' && name !== 'other')).toEqual({
    count: 3,
    total: 8,
  });
});

test('compared times are per step', () => {
  const compared = {
    ...RESPONSE,
    baseline_total_ms: Float64Array.from([20, 0, 16, 8, 6]),
    baseline_self_ms: Float64Array.from([4, 0, 2, 8, 6]),
    baseline_steps: 2,
  };
  const tree = makeCallTree(compared);
  expect(tree.nodes[4]).toMatchObject({ total: 5 / 4, baselineTotal: 3, count: 2 });
  expect(tree.baselineTotal).toBe(10);
});

test('the longest path is expanded first', () => {
  const tree = makeCallTree(RESPONSE);
  expect(listHotPath(tree)).toEqual([0, 2, 4]);
  const expanded = new Set([0]);
  expect(flattenCalls(tree, (id) => expanded.has(id)).map(({ name }) => name)).toEqual([
    'main',
    'step',
    'other',
  ]);
});

test('only names of kernels are shortened', () => {
  expect(shortenCallName('train.py(23): <module>')).toBe('train.py(23): <module>');
  expect(shortenCallName('<built-in function linear>')).toBe('<built-in function linear>');
  expect(shortenCallName('aten::mm')).toBe('aten::mm');
  expect(shortenCallName('void cutlass::Kernel2<sgemm>(sgemm::Params)')).toBe('sgemm');
});

test('callers of matches are expanded', () => {
  const tree = makeCallTree(RESPONSE);
  expect(new Set(listExpanded(tree, (name) => name === 'add'))).toEqual(new Set([0, 2, 4]));
});
