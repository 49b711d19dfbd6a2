import { describe, expect, it } from 'vitest';

import type { ProgramsResponse } from '../../../api/schemas';
import {
  collectTimes,
  flattenExpanded,
  listInitiallyExpanded,
  makeProgramTree,
} from './program-tree';

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
