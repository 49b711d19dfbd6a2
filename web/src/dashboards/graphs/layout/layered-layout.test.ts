import { expect, test } from 'vitest';

import { layoutLevel } from './layered-layout';
import type { LayoutNode, LevelLayout, LayoutEdge } from './layout-types';

const BOX = { width: 80, height: 30 };

function boxes(count: number): LayoutNode[] {
  return Array.from({ length: count }, () => BOX);
}

function lay(count: number, pairs: readonly (readonly [number, number])[]): LevelLayout {
  return layoutLevel({
    nodes: boxes(count),
    edges: pairs.map(([source, target]) => ({ source, target })),
  });
}

/** A graph in which each node reads a few of those shortly before it, the same every time. */
function randomGraph(count: number): LayoutEdge[] {
  let seed = 7;
  const next = (below: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  return Array.from({ length: count - 1 }, (_, at) => at + 1).flatMap((target) => [
    { source: target - 1 - next(Math.min(target, 3)), target },
    { source: next(target), target },
  ]);
}

function overlaps({ centers }: LevelLayout, blocks: readonly LayoutNode[]): number {
  let count = 0;
  for (const [one, a] of centers.entries())
    for (const [other, b] of centers.entries()) {
      if (one >= other) continue;
      const [wide, high] = [blocks[one], blocks[other]];
      if (!wide || !high) continue;
      const apart = Math.abs(a.x - b.x) >= (wide.width + high.width) / 2 - 0.01;
      if (!apart && Math.abs(a.y - b.y) < (wide.height + high.height) / 2 - 0.01) count++;
    }
  return count;
}

test('a chain is a straight line downwards', () => {
  const { centers } = lay(4, [[0, 1], [1, 2], [2, 3]]); // prettier-ignore
  expect(new Set(centers.map(({ x }) => x)).size).toBe(1);
  expect(centers.map(({ y }) => y)).toEqual([15, 85, 155, 225]);
});

test('a skip connection leads around what it skips, which stays straight', () => {
  const { centers, routes } = lay(4, [[0, 1], [1, 2], [2, 3], [0, 3]]); // prettier-ignore
  expect(new Set(centers.map(({ x }) => x)).size).toBe(1);
  const skip = routes[3] ?? [];
  expect(skip).toHaveLength(6);
  const middle = centers[0]?.x ?? 0;
  for (const { x } of skip.slice(1, -1)) expect(Math.abs(x - middle)).toBeGreaterThan(40);
});

test('a cycle is drawn with one link that leads up, and a loop stays at its node', () => {
  const { centers, routes } = lay(3, [[0, 1], [1, 2], [2, 0], [1, 1]]); // prettier-ignore
  expect(centers.map(({ y }) => y)).toEqual([15, 85, 155]);
  const back = routes[2] ?? [];
  expect(back[0]?.y).toBe(140);
  expect(back.at(-1)?.y).toBe(30);
  const loop = routes[3] ?? [];
  expect(loop.every(({ x }) => x >= (centers[1]?.x ?? 0) + 40)).toBe(true);
});

test('nothing lies upon anything, and the same graph gives the same picture', () => {
  const level = { nodes: boxes(120), edges: randomGraph(120) };
  const layout = layoutLevel(level);
  expect(overlaps(layout, level.nodes)).toBe(0);
  expect(layoutLevel(level)).toEqual(layout);
});

test('a larger node pushes others aside and reorders none', () => {
  const links = randomGraph(60);
  const order = (blocks: readonly LayoutNode[]): string[] => {
    const rows = new Map<number, [number, number][]>();
    layoutLevel({ nodes: blocks, edges: links }).centers.forEach(({ x, y }, node) => {
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
  const opened = before.map((box, node) => (node === 20 ? { width: 700, height: 500 } : box));
  expect(order(opened)).toEqual(order(before));
});

test('ten thousand inputs of one node stand in a grid above it', () => {
  const pairs = Array.from({ length: 10_000 }, (_, at) => [at, 10_000] as const);
  const layout = lay(10_001, pairs);
  expect(layout.width / layout.height).toBeLessThan(4);
  expect(layout.centers[10_000]?.y).toBe(layout.height - 15);
  expect(layout.routes.every((route) => route.at(-1)?.y === layout.height - 30)).toBe(true);
});

test('ten thousand nodes that each read all before end in a picture, not in a hang', () => {
  const chain = Array.from({ length: 1999 }, (_, at) => [at, at + 1] as const);
  const long = Array.from({ length: 1990 }, (_, at) => [at, 1999] as const);
  const layout = lay(2000, [...chain, ...long]);
  expect(layout.centers).toHaveLength(2000);
  expect(layout.centers.every(({ x, y }) => Number.isFinite(x + y))).toBe(true);
});

test('ports are at the edges of their group, whatever they lead to', () => {
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

test('nothing is nothing', () => {
  expect(lay(0, [])).toEqual({ width: 0, height: 0, centers: [], routes: [] });
});
