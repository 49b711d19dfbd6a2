import { expect, test } from 'vitest';

import type { GraphEdge } from '../graph-model';
import { type DrawnEdge, placeEdgeLabels } from './graph-drawing';

const LETTER_PX = 9;

function makeEdge(id: string, x: number): DrawnEdge {
  const edge = { label: '?×32×32×8', elementCount: 8192, isControl: false, source: 0, target: 1 };
  return {
    ...{ id, owner: '', source: 'a', target: id, hasArrowHead: true },
    edge: edge as GraphEdge,
    route: [
      { x: 0, y: 0 },
      { x, y: 60 },
    ],
  };
}

test('labels do not overlap, however wide the letters of the font are', () => {
  const edges = [makeEdge('b', 0), makeEdge('c', 90), makeEdge('d', 130), makeEdge('e', -110)];
  const labels = placeEdgeLabels(edges, [], (text) => text.length * LETTER_PX);
  const boxes = labels.map(({ x, y, text, isBesideEdge }) => {
    const width = text.length * LETTER_PX;
    return { left: isBesideEdge ? x : x - width / 2, width, y };
  });
  expect(boxes.length).toBeGreaterThan(1);
  for (const [index, one] of boxes.entries())
    for (const other of boxes.slice(index + 1)) {
      const isBeside = one.left + one.width <= other.left || other.left + other.width <= one.left;
      expect(isBeside || Math.abs(one.y - other.y) >= 10).toBe(true);
    }
});

test('a label is beside the straight part of an edge, not on a curve or another edge', () => {
  const long = {
    ...makeEdge('far', 0),
    route: [
      { x: 0, y: 0 },
      { x: 80, y: 40 },
      { x: 80, y: 80 },
      { x: 80, y: 120 },
      { x: 0, y: 160 },
    ],
  };
  const [label] = placeEdgeLabels([long], [], (text) => text.length * LETTER_PX);
  expect(label).toMatchObject({ isBesideEdge: true, y: 80 });
  expect(label?.x).toBeGreaterThan(80);

  const crossed = {
    ...makeEdge('b', 0),
    route: [
      { x: 0, y: 0 },
      { x: 0, y: 200 },
    ],
  };
  const other = makeEdge('c', 0);
  const crossing = {
    ...{ ...other, edge: { ...other.edge, label: '' } },
    route: [
      { x: -100, y: 100 },
      { x: 100, y: 100 },
    ],
  };
  const [moved] = placeEdgeLabels([crossed, crossing], [], (text) => text.length * LETTER_PX);
  expect(Math.abs((moved?.y ?? 100) - 100)).toBeGreaterThan(5);
});
