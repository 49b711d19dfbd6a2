import { expect, test } from 'vitest';

import type { GraphNode, GraphGroup } from './graph-model';
import { findHiddenReason, buildVisibleGroups } from './visible-graph';

const NO_OPTIONS = { expandedAuxiliary: new Set<string>(), movedNodes: new Set<string>() };

function node(id: string, more: Partial<GraphNode> = {}): GraphNode {
  return {
    ...{
      id,
      label: id,
      kind: 'op',
      op: 'Op',
      opCount: 1,
      firstRank: 0,
      lastRank: 1,
      shape: '',
      dtype: '',
    },
    ...{
      parameters: null,
      role: null,
      structure: null,
      change: null,
      bodies: [],
      autoOpenGroups: [],
    },
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

test('a node in the body of a call that stands aside is hidden by the call', () => {
  const hidden = findHiddenReason(GRAPH, NO_OPTIONS, 'call|step|net/relu', ENCLOSING);
  expect(hidden).toEqual({ kind: 'aside', node: 'call' });
  const shown = buildVisibleGroups(GRAPH, new Set(ENCLOSING), NO_OPTIONS);
  expect([...shown.keys()]).toEqual(['']);
});

test('once the call is put back, the node is in the picture', () => {
  const choices = { ...NO_OPTIONS, movedNodes: new Set(['call']) };
  expect(findHiddenReason(GRAPH, choices, 'call|step|net/relu', ENCLOSING)).toBeNull();
  const shown = buildVisibleGroups(GRAPH, new Set(ENCLOSING), choices);
  const ids = [...shown.values()].flatMap(({ nodes }) => nodes.map(({ id }) => id));
  expect(ids).toContain('call|step|net/relu');
});

test('a node that stands aside itself is found, unless such nodes are shown', () => {
  const choices = { ...NO_OPTIONS, movedNodes: new Set(['call']) };
  const id = 'call|step|net/c';
  expect(findHiddenReason(GRAPH, choices, id, ENCLOSING)).toEqual({ kind: 'aside', node: id });
  const seen = { ...choices, expandedAuxiliary: new Set(['call|step|net']) };
  expect(findHiddenReason(GRAPH, seen, id, ENCLOSING)).toBeNull();
});

test('a node beyond those of its group that are loaded needs more of the group', () => {
  const groups = groupsOf(['', [node('a'), node('b')], 900]);
  expect(findHiddenReason(groups, NO_OPTIONS, 'z', [])).toEqual({ kind: 'rest', group: '' });
  expect(findHiddenReason(groups, NO_OPTIONS, 'b', [])).toBeNull();
});

test('groups that are not loaded yet are waited for', () => {
  expect(findHiddenReason(groupsOf(['', [node('x')]]), NO_OPTIONS, 'a/b', ['a'])).toBeNull();
  const open = groupsOf(['', [node('a', { bodies: ['a'] })]]);
  expect(findHiddenReason(open, NO_OPTIONS, 'a/b', ['a'])).toBeNull();
});
