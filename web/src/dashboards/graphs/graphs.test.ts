import { describe, expect, test, vi } from 'vitest';

import { type DrawnEdge, type DrawnNode, placeEdgeLabels } from './canvas/graph-drawing';
import { avoidLegend, GraphViewport, type ViewTransform } from './canvas/graph-viewport.svelte';
import { isKerasModel } from './graph-catalog.svelte';
import { listOverlayFields, getOverlayName } from './graph-labels';
import {
  buildVisibleGroups,
  findHiddenReason,
  type GraphEdge,
  type GraphGroup,
  type GraphNode,
  parsePlaceholder,
} from './graph-model';
import { layoutLevel } from './layout/layered-layout';
import type {
  Box,
  LayoutEdge,
  LayoutNode,
  LevelLayout,
  NestedGraph,
  NestedLayout,
  NestedNode,
  Size,
} from './layout/layout-types';
import { layoutNestedGraph } from './layout/nested-layout';

function node(id: string, more: Partial<GraphNode> = {}): GraphNode {
  return {
    ...{ id, label: id, kind: 'op', op: 'Op', opCount: 1, firstRank: 0, lastRank: 1 },
    ...{ shape: '', dtype: '', parameters: null, role: null, structure: null, change: null },
    ...{ bodies: [], autoOpenGroups: [] },
    ...more,
  };
}

describe('graph model', () => {
  const NO_OPTIONS = { expandedAuxiliary: new Set<string>(), movedNodes: new Set<string>() };

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
    expect(findHiddenReason(GRAPH, options, id, ENCLOSING)).toEqual({
      kind: 'auxiliary',
      node: id,
    });
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
});

describe('graph labels', () => {
  const OVERLAYS = [
    { id: 'a1', name: 'latency.csv', columns: ['float: ms', 'int8'] },
    { id: 'b2', name: 'error.json', columns: ['value'] },
  ];

  test('columns of uploaded data are named by their file', () => {
    expect(getOverlayName('a1:float: ms', OVERLAYS)).toBe('latency.csv · float: ms');
    expect(getOverlayName('b2:value', OVERLAYS)).toBe('error.json');
    expect(getOverlayName('gone:value', OVERLAYS)).toBe('gone:value');
  });

  test('a node has its value, or both and their difference', () => {
    const shown = { overlays: OVERLAYS, overlay: 'b2:value', overlayBaseline: null };
    expect(listOverlayFields(null, shown)).toEqual([]);
    expect(listOverlayFields({ value: 1.5, baseline: null }, shown)).toEqual([
      ['error.json', '1.5'],
    ]);
    const compared = { ...shown, overlayBaseline: 'a1:int8' };
    expect(listOverlayFields({ value: 3, baseline: 1 }, compared).map(([, text]) => text)).toEqual([
      '3',
      '1',
      '2',
    ]);
    expect(
      listOverlayFields({ value: 3, baseline: null }, compared).map(([, text]) => text),
    ).toEqual(['3', '', '']);
  });

  test('a Keras model is told from data of nodes', () => {
    expect(isKerasModel('{"class_name": "Functional", "config": {"layers": []}}')).toBe(true);
    expect(isKerasModel('{"config": 1.5, "conv": 2}')).toBe(false);
    expect(isKerasModel('{"conv": {"latency": 2}}')).toBe(false);
    expect(isKerasModel('[1, 2]')).toBe(false);
    expect(isKerasModel('not JSON')).toBe(false);
  });
});

describe('layout', () => {
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
    const next = (below: number): number =>
      (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
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
      nodes: [
        BOX,
        BOX,
        { width: 8, height: 0, pin: 'top' },
        { width: 8, height: 0, pin: 'bottom' },
      ],
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

  function makeNode(
    id: string,
    content: NestedGraph | null = null,
    isAuxiliary = false,
  ): NestedNode {
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
    const root = {
      ...makeNestedGraph(true),
      nodes: [a, b && { ...b, content }, c] as NestedNode[],
    };
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
});

describe('graph drawing', () => {
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
});

describe('graph viewport', () => {
  const SCREEN: Size = { width: 800, height: 600 };
  const LEGEND: Size = { width: 200, height: 150 };

  /** Show the whole drawing in the middle. */
  function fit(drawing: Size, screen: Size): ViewTransform {
    const scale = Math.min(1, screen.width / drawing.width, screen.height / drawing.height);
    const x = (screen.width - drawing.width * scale) / 2;
    return { scale, x, y: (screen.height - drawing.height * scale) / 2 };
  }

  function makeDrawing(size: Size, boxes: readonly Box[]): Parameters<typeof avoidLegend>[1] {
    return { ...size, nodes: boxes as readonly DrawnNode[] };
  }

  test('keeps a view in which the legend covers no node', () => {
    const narrow = makeDrawing({ width: 200, height: 600 }, [
      { x: 100, y: 580, width: 80, height: 40 },
    ]);
    expect(avoidLegend(fit, narrow, SCREEN, LEGEND)).toEqual(fit(narrow, SCREEN));
  });

  test('moves a graph beside the legend, or above it if the graph is larger there', () => {
    const tall = makeDrawing({ width: 500, height: 600 }, [
      { x: 40, y: 580, width: 80, height: 40 },
    ]);
    expect(avoidLegend(fit, tall, SCREEN, LEGEND)).toEqual({ scale: 1, x: 250, y: 0 });
    const wide = makeDrawing({ width: 800, height: 440 }, [
      { x: 40, y: 420, width: 80, height: 40 },
    ]);
    expect(avoidLegend(fit, wide, { ...SCREEN, height: 590 }, LEGEND)).toEqual({
      scale: 1,
      x: 0,
      y: 0,
    });
  });

  test('keeps the view if there is no room beside the legend', () => {
    const drawing = makeDrawing(SCREEN, [{ x: 400, y: 300, width: 800, height: 600 }]);
    const legend = { width: 500, height: 400 };
    expect(avoidLegend(fit, drawing, SCREEN, legend)).toEqual(fit(drawing, SCREEN));
  });

  test('zooming during an animation changes the view at its end', async () => {
    const frames: FrameRequestCallback[] = [];
    vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => frames.push(run));
    vi.stubGlobal('cancelAnimationFrame', () => {});
    vi.stubGlobal('matchMedia', () => ({ matches: false }));
    vi.stubGlobal('document', { createElement: () => ({ getContext: () => null }) });
    vi.stubGlobal('Worker', function throwError() {
      throw new DOMException('No workers', 'SecurityError');
    });
    const viewport = new GraphViewport();
    viewport.resize(SCREEN);
    const showNodes = (...ids: string[]) => {
      const root = { id: '', total: ids.length, nodes: ids.map((id) => node(id)), edges: [] };
      const options = { expandedAuxiliary: new Set<string>(), movedNodes: new Set<string>() };
      const groups = buildVisibleGroups(new Map([['', root]]), new Set(), options);
      return viewport.layOut(groups, 'down');
    };
    await showNodes('a');
    viewport.keepInPlace('a');
    await showNodes('a', 'b');
    const start = performance.now();
    frames.shift()?.(start + 50);
    viewport.zoomAtCenter(2);
    viewport.pan(10, 0);
    const { view } = viewport;
    frames.shift()?.(start + 10_000);
    expect(frames).toEqual([]);
    expect(viewport.view.scale).toBe(2);
    expect(viewport.view).toEqual(view);
    vi.unstubAllGlobals();
  });
});
