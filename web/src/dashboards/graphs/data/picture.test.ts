import { expect, test } from 'vitest';

import type { GraphNode, Group } from './model';
import { findHidden, showGroups } from './picture';

const NOTHING = { aside: new Set<string>(), moved: new Set<string>() };

function node(id: string, more: Partial<GraphNode> = {}): GraphNode {
  return {
    ...{ id, label: id, kind: 'op', op: 'Op', leaves: 1, first: 0, last: 1, shape: '', dtype: '' },
    ...{ parameters: null, role: null, structure: null, change: null, bodies: [], chain: [] },
    ...more,
  };
}

function groupsOf(...groups: [string, GraphNode[], number?][]): Map<string, Group> {
  return new Map(
    groups.map(([id, nodes, total = nodes.length]) => [id, { id, total, nodes, links: [] }]),
  );
}

const CALL = node('call', { role: 'hub', bodies: ['call|step|'] });
const GRAPH = groupsOf(
  ['', [node('x'), CALL]],
  ['call|step|', [node('call|step|net', { bodies: ['call|step|net'] })]],
  ['call|step|net', [node('call|step|net/relu'), node('call|step|net/c', { role: 'constant' })]],
);
const AROUND = ['call|step|', 'call|step|net'];

test('a node in the body of a call that stands aside is hidden by the call', () => {
  const hidden = findHidden(GRAPH, NOTHING, 'call|step|net/relu', AROUND);
  expect(hidden).toEqual({ kind: 'aside', node: 'call' });
  const shown = showGroups(GRAPH, new Set(AROUND), NOTHING);
  expect([...shown.keys()]).toEqual(['']);
});

test('once the call is put back, the node is in the picture', () => {
  const choices = { ...NOTHING, moved: new Set(['call']) };
  expect(findHidden(GRAPH, choices, 'call|step|net/relu', AROUND)).toBeNull();
  const shown = showGroups(GRAPH, new Set(AROUND), choices);
  const ids = [...shown.values()].flatMap(({ nodes }) => nodes.map(({ id }) => id));
  expect(ids).toContain('call|step|net/relu');
});

test('a node that stands aside itself is found, unless such nodes are shown', () => {
  const choices = { ...NOTHING, moved: new Set(['call']) };
  const id = 'call|step|net/c';
  expect(findHidden(GRAPH, choices, id, AROUND)).toEqual({ kind: 'aside', node: id });
  const seen = { ...choices, aside: new Set(['call|step|net']) };
  expect(findHidden(GRAPH, seen, id, AROUND)).toBeNull();
});

test('a node beyond those of its group that are loaded needs more of the group', () => {
  const groups = groupsOf(['', [node('a'), node('b')], 900]);
  expect(findHidden(groups, NOTHING, 'z', [])).toEqual({ kind: 'rest', group: '' });
  expect(findHidden(groups, NOTHING, 'b', [])).toBeNull();
});

test('groups that are not loaded yet are waited for', () => {
  expect(findHidden(groupsOf(['', [node('x')]]), NOTHING, 'a/b', ['a'])).toBeNull();
  const open = groupsOf(['', [node('a', { bodies: ['a'] })]]);
  expect(findHidden(open, NOTHING, 'a/b', ['a'])).toBeNull();
});
