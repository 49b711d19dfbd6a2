import { expect, test } from 'vitest';

import { layoutNestedGraph } from './nested-layout';
import type { NestedGraph, NestedNode, NestedLayout } from './layout-types';

function node(id: string, inside: NestedGraph | null = null, aside = false): NestedNode {
  return { id, width: 80, height: 36, isAuxiliary: aside, content: inside };
}

/** a → b → c, and b may be open with b/1 → b/2 in it. */
function sample(isOpen: boolean): NestedGraph {
  const inside: NestedGraph = {
    id: 'b',
    nodes: [node('b/1'), node('b/2')],
    edges: [
      { source: 0, target: 1, portKey: '' },
      { source: null, target: 0, portKey: 'a' },
      { source: 1, target: null, portKey: 'c' },
    ],
  };
  return {
    id: '',
    nodes: [node('a'), node('b', isOpen ? inside : null), node('c')],
    edges: [
      { source: 0, target: 1, portKey: '' },
      { source: 1, target: 2, portKey: '' },
    ],
  };
}

const at = (placed: NestedLayout, id: string): NestedLayout['nodes'][number] => {
  const found = placed.nodes.find((node) => node.id === id);
  if (!found) throw new Error(id);
  return found;
};

const route = (placed: NestedLayout, owner: string, place: number): { x: number; y: number }[] => [
  ...(placed.edges.find((link) => link.owner === owner && link.index === place)?.route ?? []),
];

test('what is inside a group is drawn inside it, after it', () => {
  const placed = layoutNestedGraph(sample(true), 'down');
  expect(placed.nodes.map(({ id, depth }) => `${depth} ${id}`)).toEqual([
    '0 a',
    '0 b',
    '1 b/1',
    '1 b/2',
    '0 c',
  ]);
  const group = at(placed, 'b');
  for (const id of ['b/1', 'b/2']) {
    const { x, y, width, height } = at(placed, id);
    expect(Math.abs(x - group.x) + width / 2).toBeLessThan(group.width / 2);
    expect(Math.abs(y - group.y) + height / 2).toBeLessThan(group.height / 2);
  }
});

test('a link that enters a group goes on inside from the very spot where it ended', () => {
  for (const direction of ['down', 'right'] as const) {
    const placed = layoutNestedGraph(sample(true), direction);
    expect(route(placed, '', 0).at(-1)).toEqual(route(placed, 'b', 1)[0]);
    expect(route(placed, '', 1)[0]).toEqual(route(placed, 'b', 2).at(-1));
  }
});

test('to the right is downwards turned', () => {
  const placed = layoutNestedGraph(sample(false), 'right');
  const [a, b, c] = ['a', 'b', 'c'].map((id) => at(placed, id));
  expect([a?.y, c?.y]).toEqual([b?.y, b?.y]);
  expect((a?.x ?? 0) < (b?.x ?? 0) && (b?.x ?? 0) < (c?.x ?? 0)).toBe(true);
});

test('nodes that stand aside are right of all others, and their links lead straight to them', () => {
  const root: NestedGraph = {
    id: '',
    nodes: [node('a'), node('b'), node('init', null, true)],
    edges: [
      { source: 0, target: 1, portKey: '' },
      { source: 2, target: 1, portKey: '' },
    ],
  };
  const placed = layoutNestedGraph(root, 'down');
  expect(at(placed, 'init').x - 40).toBeGreaterThan(at(placed, 'b').x + 40);
  expect(placed.edges.map(({ isAuxiliary }) => isAuxiliary)).toEqual([false, true]);
});
