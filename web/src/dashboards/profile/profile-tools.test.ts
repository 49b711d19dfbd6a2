import { describe, expect, it, test } from 'vitest';

import type {
  CallTreeResponse,
  KernelsResponse,
  OperatorsResponse,
  OpsResponse,
  ProgramsResponse,
  RooflineResponse,
  StageRow,
} from '../../api/schemas';
import {
  flattenCalls,
  layoutFlame,
  listExpanded,
  listHotPath,
  makeCallTree,
  shortenCallName,
  sumMatches,
} from './calls/flame-graph';
import { flattenStages } from './tools/InputPipelineSection.svelte';
import { makeKernelRows, summarizeKernels } from './tools/kernel-table';
import {
  formatStack,
  layoutDonut,
  listOpSides,
  makeOperatorColumns,
  makeOperatorRows,
  makeOpRows,
} from './tools/op-tables';
import {
  collectTimes,
  flattenExpanded,
  listInitiallyExpanded,
  makeProgramTree,
} from './tools/program-tree';
import { getAxisRanges, makeRooflinePoints } from './tools/roofline-points';

describe('op data', () => {
  function makeResponse(
    ops: readonly [string, string, number, number, number][],
    steps = 2,
  ): OpsResponse {
    return {
      names: ops.map(([name]) => name),
      types: ops.map(([, type]) => type),
      sides: Uint8Array.from(ops, ([, , side]) => side),
      counts: Int32Array.from(ops, ([, , , count]) => count),
      total_ms: Float64Array.from(ops, ([, , , , self]) => 2 * self),
      self_ms: Float64Array.from(ops, ([, , , , self]) => self),
      longest: Int32Array.from(ops, (_, at) => at + 10),
      host_idle_ms: 0,
      device_idle_ms: 0,
      steps,
    };
  }

  const CURRENT = makeResponse([
    ['conv1', 'Conv2D', 0, 4, 8],
    ['conv2', 'Conv2D', 0, 2, 6],
    ['relu', 'Relu', 0, 4, 1],
    ['gemm', 'kernel', 1, 1, 3],
  ]);

  describe('op rows', () => {
    it('have the ops of one side', () => {
      expect(makeOpRows(CURRENT, null, 1, 'op', false).map(({ name }) => name)).toEqual(['gemm']);
      expect(listOpSides(CURRENT, null)).toEqual([0, 1]);
    });

    it('are summed up by type', () => {
      const [conv] = makeOpRows(CURRENT, null, 0, 'type', false);
      expect(conv).toMatchObject({ name: 'Conv2D', opCount: 2, baseline: null });
      expect(conv?.current).toEqual({ count: 6, total: 28, self: 14, longestEvent: 10 });
    });

    it('have times per step, to compare captures with different numbers of steps', () => {
      const baseline = makeResponse([['conv1', 'Conv2D', 0, 40, 40]], 10);
      const rows = makeOpRows(CURRENT, baseline, 0, 'op', true);
      const conv = rows.find(({ name }) => name === 'conv1');
      expect(conv?.current.self).toBe(4);
      expect(conv?.baseline?.self).toBe(4);
    });

    it('include ops that only the baseline has', () => {
      const rows = makeOpRows(CURRENT, makeResponse([['old', 'Old', 0, 2, 2]]), 0, 'type', false);
      const gone = rows.find(({ name }) => name === 'Old');
      expect(gone?.current.self).toBe(0);
      expect(gone?.baseline?.self).toBe(2);
      expect(rows.find(({ name }) => name === 'Relu')?.baseline?.self).toBe(0);
    });
  });

  const slice = (name: string, value: number) => ({ name, value });

  describe('a donut chart', () => {
    it('starts with the largest slice', () => {
      const { slices, total } = layoutDonut([slice('a', 1), slice('b', 3)]);
      expect(slices.map(({ name, share }) => [name, share])).toEqual([
        ['b', 0.75],
        ['a', 0.25],
      ]);
      expect(total).toBe(4);
    });

    it('combines small slices', () => {
      const many = Array.from({ length: 20 }, (_, at) => slice(`op ${at}`, 20 - at));
      const { slices } = layoutDonut(many);
      expect(slices).toHaveLength(8);
      expect(slices.at(-1)).toMatchObject({ name: 'Other', value: 91, isOther: true });
      expect(slices.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    });

    it('draws a single slice as a full ring', () => {
      const [only] = layoutDonut([slice('a', 2)]).slices;
      expect(only?.path).toMatch(/^M0.000 -48.000A48 48 0 1 1 /);
      expect(only?.path).not.toContain('NaN');
    });

    it('has no slices without values', () => {
      expect(layoutDonut([slice('a', 0)])).toEqual({ slices: [], total: 0 });
    });
  });
});

describe('kernel table', () => {
  interface KernelFields {
    readonly name: string;
    readonly op?: string;
    readonly grid?: string;
    readonly total: number;
    readonly occupancy?: number;
    readonly tensor?: number;
    readonly eligible?: number;
  }

  function makeResponse(kernels: readonly KernelFields[], steps = 2): KernelsResponse {
    const ints = (of: (it: KernelFields) => number): Int32Array => Int32Array.from(kernels, of);
    return {
      devices: [],
      names: kernels.map(({ name }) => name),
      ops: kernels.map(({ op = '' }) => op),
      types: kernels.map(() => ''),
      grids: kernels.map(({ grid = '1,1,1' }) => grid),
      blocks: kernels.map(() => '64,1,1'),
      registers: ints(() => 32),
      shared_bytes: ints(() => 0),
      occupancy: Float32Array.from(kernels, ({ occupancy = NaN }) => occupancy),
      occupancy_kind: 'achieved',
      fill: Float32Array.from(kernels, () => 0.5),
      tensor_cores: Uint8Array.from(kernels, ({ tensor = 0 }) => tensor),
      eligible: Uint8Array.from(kernels, ({ eligible = 0 }) => eligible),
      counts: ints(() => 2),
      total_ms: Float64Array.from(kernels, ({ total }) => total),
      min_ms: Float64Array.from(kernels, ({ total }) => total / 4),
      max_ms: Float64Array.from(kernels, ({ total }) => total),
      longest: ints(() => 7),
      steps,
    };
  }

  const CURRENT = makeResponse([
    { name: 'gemm', op: 'mm', total: 6, occupancy: 20, tensor: 1, eligible: 1 },
    { name: 'gemm', op: 'mm', grid: '2,1,1', total: 2, occupancy: 60, tensor: 1, eligible: 1 },
    { name: 'sgemm', op: 'addmm', total: 2, tensor: 0, eligible: 1 },
    { name: 'relu', op: 'relu', total: 1 },
  ]);

  describe('kernel rows', () => {
    it('are grouped by launch, kernel or op', () => {
      expect(makeKernelRows(CURRENT, null, 'launch', false)).toHaveLength(4);
      expect(makeKernelRows(CURRENT, null, 'kernel', false)).toHaveLength(3);
      const [mm] = makeKernelRows(CURRENT, null, 'op', false);
      expect(mm).toMatchObject({
        op: 'mm',
        total: 8,
        count: 4,
        launchCount: 2,
        grid: '',
        min: 0.5,
      });
      expect(mm?.occupancy).toBe(30);
    });

    it('are compared per step, including kernels that only the baseline has', () => {
      const rows = makeKernelRows(
        CURRENT,
        makeResponse([{ name: 'old', total: 20 }], 10),
        'kernel',
        true,
      );
      expect(rows.find(({ name }) => name === 'gemm')).toMatchObject({ total: 4, baseline: 0 });
      expect(rows.find(({ name }) => name === 'old')).toMatchObject({ total: 0, baseline: 2 });
    });

    it('are summarized by the use of tensor cores', () => {
      const { total, eligible, tensorCores, unknown, occupancy, fill } = summarizeKernels(
        CURRENT,
        false,
      );
      expect([total, eligible, tensorCores, unknown]).toEqual([11, 10, 8, 0]);
      expect(occupancy).toBe(30);
      expect(fill).toBe(0.5);
    });
  });
});

describe('operator table', () => {
  function makeResponse(names: string[], self: number[], steps = 1): OperatorsResponse {
    const times = Float64Array.from(self);
    return {
      groupings: ['name'],
      names,
      groups: names.map(() => ''),
      kinds: names.map(() => 'op'),
      depths: new Int32Array(names.length),
      counts: Int32Array.from(self, () => 4),
      host_self_ms: times,
      host_total_ms: times,
      device_self_ms: times,
      device_total_ms: times,
      longest: Int32Array.from(self, (_, index) => index),
      steps,
    };
  }

  test('rows are per step on request', () => {
    const [row] = makeOperatorRows(makeResponse(['mm'], [8], 2), null, true);
    expect(row?.current).toMatchObject({ count: 2, deviceSelf: 4, longestEvent: 0 });
  });

  test('the baseline is matched by name, and what only it has is kept', () => {
    const rows = makeOperatorRows(
      makeResponse(['mm'], [8]),
      makeResponse(['mm', 'add'], [6, 2]),
      true,
    );
    expect(rows.map(({ name }) => name)).toEqual(['mm', 'add']);
    expect(rows[0]?.baseline?.deviceSelf).toBe(6);
    expect(rows[1]).toMatchObject({ current: { deviceSelf: 0 }, baseline: { deviceSelf: 2 } });
  });

  test('modules of one name in different places are different rows', () => {
    const tree = {
      ...makeResponse(['Block_0', 'Linear_0', 'Block_1', 'Linear_0'], [1, 2, 3, 4]),
      depths: Int32Array.from([0, 1, 0, 1]),
    };
    const rows = makeOperatorRows(tree, tree, false);
    expect(rows.map(({ baseline }) => baseline?.hostSelf)).toEqual([1, 2, 3, 4]);
  });

  test('a capture without a device has no columns of device time', () => {
    const response = { ...makeResponse(['mm'], [8]), device_self_ms: new Float64Array(1) };
    const rows = makeOperatorRows(response, null, false);
    const keys = makeOperatorColumns(rows, 'name', false).map(({ key }) => key);
    expect(keys).toEqual(['name', 'count', 'hostSelf', 'hostTotal']);
  });

  test('formats a stack on one line', () => {
    expect(formatStack('linear\nforward')).toBe('linear ← forward');
  });
});

describe('roofline points', () => {
  type OpTuple = readonly [name: string, ms: number, flops: number, bytes: number];

  function makeResponse(rows: readonly OpTuple[], steps = 1): RooflineResponse {
    return {
      device: 'Some Device',
      roofs: [
        { precision: 'fp32', flops_per_s: 1e12 },
        { precision: 'fp16', flops_per_s: 8e12 },
      ],
      bytes_per_s: 1e11,
      is_estimate: false,
      names: rows.map(([name]) => name),
      types: rows.map(() => ''),
      counts: Int32Array.from(rows, () => steps),
      self_ms: Float64Array.from(rows, ([, ms]) => ms),
      flops: Float64Array.from(rows, ([, , flops]) => flops),
      bytes: Float64Array.from(rows, ([, , , bytes]) => bytes),
      longest: Int32Array.from(rows, () => 3),
      steps,
      utilization: null,
    };
  }

  describe('the roofline', () => {
    it('has the bound of an op and its utilization', () => {
      const [add, mm] = makeRooflinePoints(
        makeResponse([
          ['add', 1, 1e7, 1e8 / 2],
          ['mm', 1, 5e8, 1e6],
        ]),
        null,
      );
      expect(add).toMatchObject({ intensity: 0.2, bound: 'memory', flopsPerS: 1e10 });
      expect(add?.utilization).toBeCloseTo(0.5);
      expect(mm).toMatchObject({ bound: 'compute', flopsPerS: 5e11 });
      expect(mm?.utilization).toBeCloseTo(0.5);
    });

    it('uses the next roof for ops above the lowest', () => {
      const [mm] = makeRooflinePoints(makeResponse([['mm', 1, 4e9, 1e6]]), null);
      expect(mm?.utilization).toBeCloseTo(0.5);
    });

    it('leaves out ops without operations', () => {
      expect(makeRooflinePoints(makeResponse([['copy', 1, 0, 1e6]]), null)).toEqual([]);
    });

    it('has no bound for unknown devices', () => {
      const [mm] = makeRooflinePoints(
        { ...makeResponse([['mm', 1, 1e9, 1e6]]), roofs: [], bytes_per_s: 0 },
        null,
      );
      expect(mm?.bound).toBe('');
      expect(mm?.utilization).toBeNaN();
    });

    it('compares times per step', () => {
      const [mm] = makeRooflinePoints(
        makeResponse([['mm', 4, 1e9, 1e6]], 4),
        makeResponse([['mm', 20, 1e9, 1e6]], 10),
      );
      expect([mm?.ms, mm?.baseline]).toEqual([1, 2]);
    });

    it('has axes for all points and roofs', () => {
      const response = makeResponse([['mm', 1, 5e8, 1e6]]);
      const { x, y } = getAxisRanges(response, makeRooflinePoints(response, null));
      expect(x[0]).toBeLessThanOrEqual(0.1);
      expect(x[1]).toBeGreaterThanOrEqual(500);
      expect(y).toEqual([1e11, 1e13]);
      expect(getAxisRanges({ ...response, roofs: [] }, []).y).toEqual([1, 10]);
    });
  });
});

describe('pipeline tree', () => {
  const stage = (id: number, parent: number | null): StageRow => ({
    id,
    parent,
    name: `stage ${id}`,
    op: '',
    calls: 1,
    total_ms: 1,
    self_ms: 1,
    critical_ms: 0,
    parallelism: null,
    is_slowest: false,
    advice: null,
    event: 0,
  });

  const flatten = (stages: StageRow[]): [number, number][] =>
    flattenStages(stages).map(({ stage, depth }) => [stage.id, depth]);

  it('puts stages below their consumers', () =>
    expect(flatten([stage(3, 2), stage(2, 1), stage(1, null), stage(4, 1)])).toEqual([
      [1, 0],
      [2, 1],
      [3, 2],
      [4, 1],
    ]));

  it('treats a stage whose parent was not recorded as a root', () =>
    expect(flatten([stage(2, 9)])).toEqual([[2, 0]]));

  it('ignores stages that feed each other', () =>
    expect(flatten([stage(1, null), stage(2, 3), stage(3, 2)])).toEqual([[1, 0]]));
});

describe('program tree', () => {
  type InstructionTuple = readonly [
    name: string,
    kind: string,
    scope: string,
    ms: number,
    program?: number,
  ];

  function makeResponse(rows: readonly InstructionTuple[], steps = 1): ProgramsResponse {
    const numbers = (value: number): Float64Array => Float64Array.from(rows, () => value);
    return {
      programs: [
        { index: 1, name: 'jit_step', module_id: 7, instructions: 9, total_ms: 1 },
        { index: 0, name: 'jit_init', module_id: 3, instructions: 2, total_ms: 0 },
      ],
      names: rows.map(([name]) => name),
      opcodes: rows.map(() => 'fusion'),
      kinds: rows.map(([, kind]) => kind),
      scopes: rows.map(([, , scope]) => scope),
      sources: rows.map(() => 'train.py:3'),
      shapes: rows.map(() => 'f32[2]'),
      program_indices: Int32Array.from(rows, ([, , , , program = 1]) => program),
      counts: Int32Array.from(rows, () => 4),
      total_ms: Float64Array.from(rows, ([, , , ms]) => ms),
      flops: numbers(8),
      bytes: numbers(2),
      longest: Int32Array.from(rows, (_, at) => at),
      unmapped_ms: 0,
      steps,
    };
  }

  const RESPONSE = makeResponse([
    ['dot.1', 'matrix product', 'jit(step)/layer0/dot_general', 6],
    ['dot.2', 'matrix product', 'jit(step)/layer1/dot_general', 3],
    ['add.1', 'elementwise', 'jit(step)/layer0/add', 1],
    ['iota', 'data movement', '', 0.5, 0],
  ]);

  const shapeOf = (nodes: ReturnType<typeof makeProgramTree>): unknown[] =>
    nodes.map(({ name, ms, children }) => [name, ms, ...shapeOf(children)]);

  describe('the tree of a program', () => {
    it('has programs, kinds and instructions, longest first', () => {
      expect(shapeOf(makeProgramTree(RESPONSE, 'program', false))).toEqual([
        [
          'jit_step',
          10,
          ['Matrix product', 9, ['dot.1', 6], ['dot.2', 3]],
          ['Elementwise', 1, ['add.1', 1]],
        ],
        ['jit_init', 0.5, ['Data movement', 0.5, ['iota', 0.5]]],
      ]);
    });

    it('groups by the scopes of the framework', () => {
      const [step, unknown] = makeProgramTree(RESPONSE, 'scope', false);
      expect(step?.children.map(({ name, ms }) => [name, ms])).toEqual([
        ['layer0', 7],
        ['layer1', 3],
      ]);
      expect(unknown?.name).toBe('no scope');
    });

    it('has opcode, shape and source of instructions', () => {
      const [product] = makeProgramTree(RESPONSE, 'kind', false);
      expect(product).toMatchObject({ details: '', event: -1, flops: 16 });
      expect(product?.children[0]).toMatchObject({
        details: 'fusion f32[2]',
        source: 'train.py:3',
        event: 0,
      });
    });

    it('expands the path that takes most of the time', () => {
      const nodes = makeProgramTree(RESPONSE, 'program', false);
      const expanded = new Set(listInitiallyExpanded(nodes));
      expect(flattenExpanded(nodes, (path) => expanded.has(path)).map(({ name }) => name)).toEqual([
        'jit_step',
        'Matrix product',
        'dot.1',
        'dot.2',
        'Elementwise',
        'jit_init',
      ]);
    });

    it('has times per step by path', () => {
      const times = collectTimes(
        makeProgramTree(makeResponse([['dot.1', 'matrix product', '', 8]], 4), 'kind', true),
      );
      expect(times.get('Matrix product')).toBe(2);
      expect(times.get('Matrix product\ndot.1')).toBe(2);
    });
  });
});

describe('flame graph', () => {
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
});
