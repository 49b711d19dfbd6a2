import { describe, expect, it } from 'vitest';

import { type HeapAnswer, makeHeld } from './heap';

function answer(rows: readonly (readonly [where: string, bytes: number])[]): HeapAnswer {
  return {
    wheres: rows.map(([where]) => where),
    stacks: rows.map(([where]) => `full lax.py:3\n${where}`),
    kinds: rows.map(() => 'buffer'),
    devices: rows.map(() => 'gpu:0'),
    counts: Int32Array.from(rows, () => 1),
    bytes: Float64Array.from(rows, ([, bytes]) => bytes),
    total_bytes: 0,
  };
}

describe('what is held', () => {
  it('is summed up by the line that asked for it', () => {
    const [init, step] = makeHeld(
      answer([
        ['init', 5],
        ['step', 3],
        ['init', 1],
      ]),
      null,
    );
    expect(init).toMatchObject({ where: 'init', bytes: 6, count: 2, before: null });
    expect(step?.bytes).toBe(3);
  });

  it('is compared, with what is no longer held', () => {
    const rows = makeHeld(answer([['init', 5]]), answer([['step', 3]]));
    expect(rows.map(({ where, bytes, before }) => [where, bytes, before])).toEqual([
      ['init', 5, 0],
      ['step', 0, 3],
    ]);
  });
});
