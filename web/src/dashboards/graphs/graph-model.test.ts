import { expect, test } from 'vitest';

import {
  buildVisibleGroups,
  findHiddenReason,
  type GraphGroup,
  type GraphNode,
  parsePlaceholder,
} from './graph-model';

const NO_OPTIONS = { expandedAuxiliary: new Set<string>(), movedNodes: new Set<string>() };

function node(id: string, more: Partial<GraphNode> = {}): GraphNode {
  return {
    ...{ id, label: id, kind: 'op', op: 'Op', opCount: 1, firstRank: 0, lastRank: 1 },
    ...{ shape: '', dtype: '', parameters: null, role: null, structure: null, change: null },
    ...{ bodies: [], autoOpenGroups: [] },
    ...more,
  };
}

function groupsOf(...groups: [string, GraphNode[], number?][]): Map<string, GraphGroup> {
  return new Map(
    groups.map(([id, nodes, total = nodes.length]) => [id, { id, total, nodes, edges: [] }]),
  );
}

const CALL = node('call', { role: 'hub', bodies: ['call|step|'] });
const GRAPH = groupsOf(
  ['', [node('x'), CALL]],
  ['call|step|', [node('call|step|net', { bodies: ['call|step|net'] })]],
  ['call|step|net', [node('call|step|net/relu'), node('call|step|net/c', { role: 'constant' })]],
);
const ENCLOSING = ['call|step|', 'call|step|net'];

test('a node in the body of an auxiliary call is hidden by the call', () => {
  const hidden = findHiddenReason(GRAPH, NO_OPTIONS, 'call|step|net/relu', ENCLOSING);
  expect(hidden).toEqual({ kind: 'auxiliary', node: 'call' });
  const shown = buildVisibleGroups(GRAPH, new Set(ENCLOSING), NO_OPTIONS);
  expect([...shown.keys()]).toEqual(['']);
});

test('a node in the body of a call is drawn once the call is in the main graph', () => {
  const options = { ...NO_OPTIONS, movedNodes: new Set(['call']) };
  expect(findHiddenReason(GRAPH, options, 'call|step|net/relu', ENCLOSING)).toBeNull();
  const shown = buildVisibleGroups(GRAPH, new Set(ENCLOSING), options);
  const ids = [...shown.values()].flatMap(({ nodes }) => nodes.map(({ id }) => id));
  expect(ids).toContain('call|step|net/relu');
});

test('an auxiliary node is hidden unless the auxiliary nodes of its group are shown', () => {
  const options = { ...NO_OPTIONS, movedNodes: new Set(['call']) };
  const id = 'call|step|net/c';
  expect(findHiddenReason(GRAPH, options, id, ENCLOSING)).toEqual({ kind: 'auxiliary', node: id });
  const expanded = { ...options, expandedAuxiliary: new Set(['call|step|net']) };
  expect(findHiddenReason(GRAPH, expanded, id, ENCLOSING)).toBeNull();
});

test('a node is hidden if its group is loaded in part', () => {
  const groups = groupsOf(['', [node('a'), node('b')], 900]);
  expect(findHiddenReason(groups, NO_OPTIONS, 'z', [])).toEqual({ kind: 'notLoaded', group: '' });
  expect(findHiddenReason(groups, NO_OPTIONS, 'b', [])).toBeNull();
});

test('there is no reason yet while a group is not loaded', () => {
  expect(findHiddenReason(groupsOf(['', [node('x')]]), NO_OPTIONS, 'a/b', ['a'])).toBeNull();
  const open = groupsOf(['', [node('a', { bodies: ['a'] })]]);
  expect(findHiddenReason(open, NO_OPTIONS, 'a/b', ['a'])).toBeNull();
});

test('hidden nodes are counted by role in a placeholder', () => {
  const nodes = [node('x'), node('c', { role: 'constant' }), node('y'), node('z')];
  const edges = [
    { source: 0, target: 2, portKey: '' },
    { source: 1, target: 2, portKey: '' },
  ].map((edge) => ({
    ...edge,
    ...{ count: 1, elementCount: null, isControl: false, label: '', dtype: '', change: null },
  }));
  const groups = new Map([['', { id: '', total: 5, nodes, edges }]]);
  const options = { ...NO_OPTIONS, movedNodes: new Set(['z']) };
  const root = buildVisibleGroups(groups, new Set(), options).get('');
  expect(root?.nodes.map(({ label }) => label)).toEqual([
    'x',
    'y',
    '2 auxiliary nodes',
    '1 more node',
  ]);
  expect(root?.nodes[2]?.op).toBe('1 constant · 1 removed node');
  expect(root?.edges.map(({ source, target }) => [source, target])).toEqual([[0, 1]]);
  expect(root?.stubs).toEqual(new Map([['y', { inputs: ['c'], outputs: [] }]]));
  const placeholders = [...(root?.auxiliaryIds ?? [])].map(parsePlaceholder);
  expect(placeholders.map((one) => one?.kind)).toEqual(['auxiliary', 'notLoaded']);
  const expanded = { ...options, expandedAuxiliary: new Set(['']) };
  const shown = buildVisibleGroups(groups, new Set(), expanded).get('');
  const labels = shown?.nodes.map(({ label }) => label);
  expect(labels).toEqual(['x', 'c', 'y', 'z', 'Hide 2 auxiliary nodes', '1 more node']);
  expect(shown?.edges).toEqual(edges);
  expect(shown?.stubs.size).toBe(0);
});

test('unconnected nodes stay beside the main graph', () => {
  const nodes = [node('x'), node('c', { role: 'constant' }), node('n', { role: 'lonely' })];
  const groups = groupsOf(['', nodes]);
  const options = { ...NO_OPTIONS, expandedAuxiliary: new Set(['']) };
  const shown = buildVisibleGroups(groups, new Set(), options).get('');
  expect([...(shown?.auxiliaryIds ?? [])]).toEqual(['n', ' aside']);
});
