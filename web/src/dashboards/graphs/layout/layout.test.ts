import { expect, test } from 'vitest';

import { layoutLevel } from './layered-layout';
import type {
  LayoutEdge,
  LayoutNode,
  LevelLayout,
  NestedGraph,
  NestedLayout,
  NestedNode,
} from './layout-types';
import { layoutNestedGraph } from './nested-layout';

// ---- One level

const BOX = { width: 80, height: 30 };

function boxes(count: number): LayoutNode[] {
  return Array.from({ length: count }, () => BOX);
}

function layOut(count: number, pairs: readonly (readonly [number, number])[]): LevelLayout {
  return layoutLevel({
    nodes: boxes(count),
    edges: pairs.map(([source, target]) => ({ source, target })),
  });
}

/** A reproducible graph in which each node reads two earlier ones. */
function randomGraph(count: number): LayoutEdge[] {
  let seed = 7;
  const next = (below: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  return Array.from({ length: count - 1 }, (_, at) => at + 1).flatMap((target) => [
    { source: target - 1 - next(Math.min(target, 3)), target },
    { source: next(target), target },
  ]);
}

function countOverlaps({ centers }: LevelLayout, nodes: readonly LayoutNode[]): number {
  let count = 0;
  for (const [one, a] of centers.entries())
    for (const [other, b] of centers.entries()) {
      if (one >= other) continue;
      const [first, second] = [nodes[one], nodes[other]];
      if (!first || !second) continue;
      const isApart = Math.abs(a.x - b.x) >= (first.width + second.width) / 2 - 0.01;
      if (!isApart && Math.abs(a.y - b.y) < (first.height + second.height) / 2 - 0.01) count++;
    }
  return count;
}

test('a chain is a straight line downwards', () => {
  const { centers } = layOut(4, [[0, 1], [1, 2], [2, 3]]); // prettier-ignore
  expect(new Set(centers.map(({ x }) => x)).size).toBe(1);
  expect(centers.map(({ y }) => y)).toEqual([15, 85, 155, 225]);
});

test('a skip connection leads around the nodes that it skips, which stay in line', () => {
  const { centers, routes } = layOut(4, [[0, 1], [1, 2], [2, 3], [0, 3]]); // prettier-ignore
  expect(new Set(centers.map(({ x }) => x)).size).toBe(1);
  const skip = routes[3] ?? [];
  expect(skip).toHaveLength(6);
  const middle = centers[0]?.x ?? 0;
  for (const { x } of skip.slice(1, -1)) expect(Math.abs(x - middle)).toBeGreaterThan(40);
});

test('a cycle has one edge that leads up, and a self-loop stays at its node', () => {
  const { centers, routes } = layOut(3, [[0, 1], [1, 2], [2, 0], [1, 1]]); // prettier-ignore
  expect(centers.map(({ y }) => y)).toEqual([15, 85, 155]);
  const back = routes[2] ?? [];
  expect(back[0]?.y).toBe(140);
  expect(back.at(-1)?.y).toBe(30);
  const loop = routes[3] ?? [];
  expect(loop.every(({ x }) => x >= (centers[1]?.x ?? 0) + 40)).toBe(true);
});

test('nodes do not overlap, and the layout is reproducible', () => {
  const level = { nodes: boxes(120), edges: randomGraph(120) };
  const layout = layoutLevel(level);
  expect(countOverlaps(layout, level.nodes)).toBe(0);
  expect(layoutLevel(level)).toEqual(layout);
});

test('a larger node moves others aside without reordering them', () => {
  const edges = randomGraph(60);
  const getOrder = (nodes: readonly LayoutNode[]): string[] => {
    const rows = new Map<number, [number, number][]>();
    layoutLevel({ nodes, edges }).centers.forEach(({ x, y }, node) => {
      rows.set(Math.round(y), [...(rows.get(Math.round(y)) ?? []), [x, node]]);
    });
    const byHeight = [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
    return byHeight.map((row) =>
      row
        .sort(([a], [b]) => a - b)
        .map(([, node]) => node)
        .join(),
    );
  };
  const before = boxes(60);
  const expanded = before.map((box, node) => (node === 20 ? { width: 700, height: 500 } : box));
  expect(getOrder(expanded)).toEqual(getOrder(before));
});

test('ten thousand inputs of one node form a grid above it', () => {
  const pairs = Array.from({ length: 10_000 }, (_, at) => [at, 10_000] as const);
  const layout = layOut(10_001, pairs);
  expect(layout.width / layout.height).toBeLessThan(4);
  expect(layout.centers[10_000]?.y).toBe(layout.height - 15);
  expect(layout.routes.every((route) => route.at(-1)?.y === layout.height - 30)).toBe(true);
});

test('two thousand nodes with long edges are laid out in reasonable time', () => {
  const chain = Array.from({ length: 1999 }, (_, at) => [at, at + 1] as const);
  const long = Array.from({ length: 1990 }, (_, at) => [at, 1999] as const);
  const layout = layOut(2000, [...chain, ...long]);
  expect(layout.centers).toHaveLength(2000);
  expect(layout.centers.every(({ x, y }) => Number.isFinite(x + y))).toBe(true);
});

test('ports are at the borders of their group, whatever they are connected to', () => {
  const layout = layoutLevel({
    nodes: [BOX, BOX, { width: 8, height: 0, pin: 'top' }, { width: 8, height: 0, pin: 'bottom' }],
    edges: [
      { source: 0, target: 1 },
      { source: 2, target: 1 },
      { source: 0, target: 3 },
    ],
  });
  expect(layout.centers[2]?.y).toBe(0);
  expect(layout.centers[3]?.y).toBe(layout.height);
});

test('an empty graph has an empty layout', () => {
  expect(layOut(0, [])).toEqual({ width: 0, height: 0, centers: [], routes: [] });
});

// ---- Nested groups

function makeNode(id: string, content: NestedGraph | null = null, isAuxiliary = false): NestedNode {
  return { id, width: 80, height: 36, isAuxiliary, content };
}

/** a → b → c, where b may be expanded with b/1 → b/2 inside. */
function makeNestedGraph(isOpen: boolean): NestedGraph {
  const content: NestedGraph = {
    id: 'b',
    nodes: [makeNode('b/1'), makeNode('b/2')],
    edges: [
      { source: 0, target: 1, portKey: '' },
      { source: null, target: 0, portKey: 'a' },
      { source: 1, target: null, portKey: 'c' },
    ],
  };
  return {
    id: '',
    nodes: [makeNode('a'), makeNode('b', isOpen ? content : null), makeNode('c')],
    edges: [
      { source: 0, target: 1, portKey: '' },
      { source: 1, target: 2, portKey: '' },
    ],
  };
}

const getNode = (layout: NestedLayout, id: string): NestedLayout['nodes'][number] => {
  const found = layout.nodes.find((node) => node.id === id);
  if (!found) throw new Error(id);
  return found;
};

const getRoute = (
  layout: NestedLayout,
  owner: string,
  index: number,
): { x: number; y: number }[] => [
  ...(layout.edges.find((edge) => edge.owner === owner && edge.index === index)?.route ?? []),
];

test('the content of a group is inside it and comes after it', () => {
  const layout = layoutNestedGraph(makeNestedGraph(true), 'down');
  expect(layout.nodes.map(({ id, depth }) => `${depth} ${id}`)).toEqual([
    '0 a',
    '0 b',
    '1 b/1',
    '1 b/2',
    '0 c',
  ]);
  const group = getNode(layout, 'b');
  for (const id of ['b/1', 'b/2']) {
    const { x, y, width, height } = getNode(layout, id);
    expect(Math.abs(x - group.x) + width / 2).toBeLessThan(group.width / 2);
    expect(Math.abs(y - group.y) + height / 2).toBeLessThan(group.height / 2);
  }
});

test('a group is as wide as its title, with the content in the middle', () => {
  const [a, b, c] = makeNestedGraph(true).nodes;
  const content = b?.content ? { ...b.content, titleWidth: 400 } : null;
  const root = { ...makeNestedGraph(true), nodes: [a, b && { ...b, content }, c] as NestedNode[] };
  const layout = layoutNestedGraph(root, 'down');
  expect(getNode(layout, 'b').width).toBe(400);
  expect(getNode(layout, 'b/1').x).toBe(getNode(layout, 'b').x);
  expect(getRoute(layout, '', 0).at(-1)).toEqual(getRoute(layout, 'b', 1)[0]);
});

test('an edge into a group continues inside at the same point', () => {
  for (const direction of ['down', 'right'] as const) {
    const layout = layoutNestedGraph(makeNestedGraph(true), direction);
    expect(getRoute(layout, '', 0).at(-1)).toEqual(getRoute(layout, 'b', 1)[0]);
    expect(getRoute(layout, '', 1)[0]).toEqual(getRoute(layout, 'b', 2).at(-1));
  }
});

test('the layout to the right is transposed', () => {
  const layout = layoutNestedGraph(makeNestedGraph(false), 'right');
  const [a, b, c] = ['a', 'b', 'c'].map((id) => getNode(layout, id));
  expect([a?.y, c?.y]).toEqual([b?.y, b?.y]);
  expect((a?.x ?? 0) < (b?.x ?? 0) && (b?.x ?? 0) < (c?.x ?? 0)).toBe(true);
});

test('auxiliary nodes are to the right of the others, without edges', () => {
  const root: NestedGraph = {
    id: '',
    nodes: [makeNode('a'), makeNode('b'), makeNode('init', null, true)],
    edges: [
      { source: 0, target: 1, portKey: '' },
      { source: 2, target: 1, portKey: '' },
    ],
  };
  const layout = layoutNestedGraph(root, 'down');
  expect(getNode(layout, 'init').x - 40).toBeGreaterThan(getNode(layout, 'b').x + 40);
  expect(layout.edges.map(({ index }) => index)).toEqual([0]);
});

test('edges pass beside the nodes of a grid', () => {
  const members = Array.from({ length: 9 }, (_, index) => makeNode(`n${index}`));
  const root: NestedGraph = {
    id: '',
    nodes: [...members, makeNode('in'), makeNode('out')],
    edges: members.flatMap((_, index) => [
      { source: 9, target: index, portKey: '' },
      { source: index, target: 10, portKey: '' },
    ]),
  };
  const layout = layoutNestedGraph(root, 'down');
  const boxes = members.map(({ id }) => getNode(layout, id));
  for (const { index, route } of layout.edges) {
    const own = boxes[Math.floor(index / 2)];
    for (const box of boxes.filter((box) => box !== own))
      for (const [number, to] of route.slice(1).entries()) {
        const from = route[number] ?? to;
        const isBeside =
          Math.max(from.x, to.x) <= box.x - box.width / 2 ||
          Math.min(from.x, to.x) >= box.x + box.width / 2;
        const isAboveOrBelow =
          Math.max(from.y, to.y) <= box.y - box.height / 2 ||
          Math.min(from.y, to.y) >= box.y + box.height / 2;
        expect(isBeside || isAboveOrBelow).toBe(true);
      }
  }
});
