import { expect, test } from 'vitest';

import { layOutNest } from './nest';
import type { Interior, NestedNode, Placed } from './nesting';

function node(id: string, inside: Interior | null = null, aside = false): NestedNode {
  return { id, width: 80, height: 36, aside, inside };
}

/** a → b → c, and b may be open with b/1 → b/2 in it. */
function sample(isOpen: boolean): Interior {
  const inside: Interior = {
    id: 'b',
    nodes: [node('b/1'), node('b/2')],
    links: [
      { source: 0, target: 1, key: '' },
      { source: null, target: 0, key: 'a' },
      { source: 1, target: null, key: 'c' },
    ],
  };
  return {
    id: '',
    nodes: [node('a'), node('b', isOpen ? inside : null), node('c')],
    links: [
      { source: 0, target: 1, key: '' },
      { source: 1, target: 2, key: '' },
    ],
  };
}

const at = (placed: Placed, id: string): Placed['nodes'][number] => {
  const found = placed.nodes.find((node) => node.id === id);
  if (!found) throw new Error(id);
  return found;
};

const route = (placed: Placed, owner: string, place: number): { x: number; y: number }[] => [
  ...(placed.links.find((link) => link.owner === owner && link.place === place)?.route ?? []),
];

test('what is inside a group is drawn inside it, after it', () => {
  const placed = layOutNest(sample(true), 'down');
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
    const placed = layOutNest(sample(true), direction);
    expect(route(placed, '', 0).at(-1)).toEqual(route(placed, 'b', 1)[0]);
    expect(route(placed, '', 1)[0]).toEqual(route(placed, 'b', 2).at(-1));
  }
});

test('to the right is downwards turned', () => {
  const placed = layOutNest(sample(false), 'right');
  const [a, b, c] = ['a', 'b', 'c'].map((id) => at(placed, id));
  expect([a?.y, c?.y]).toEqual([b?.y, b?.y]);
  expect((a?.x ?? 0) < (b?.x ?? 0) && (b?.x ?? 0) < (c?.x ?? 0)).toBe(true);
});

test('nodes that stand aside are right of all others, and their links lead straight to them', () => {
  const root: Interior = {
    id: '',
    nodes: [node('a'), node('b'), node('init', null, true)],
    links: [
      { source: 0, target: 1, key: '' },
      { source: 2, target: 1, key: '' },
    ],
  };
  const placed = layOutNest(root, 'down');
  expect(at(placed, 'init').x - 40).toBeGreaterThan(at(placed, 'b').x + 40);
  expect(placed.links.map(({ aside }) => aside)).toEqual([false, true]);
});
